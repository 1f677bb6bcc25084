/* SPDX-License-Identifier: MIT */
/*
 * census: memory with any contents. It ends, what it lists is sorted and lies in its areas, and sums are not
 * more than there is.
 */
#include "heap/census_take.h"

#include "tests/fuzz/fuzz.h"
#include "tests/tools/heapimage.h"

#define MOST_MAPPINGS 64u
#define MOST_PAGES 4096u	/* of all mappings: 16 MiB */

struct image {
	const uint8_t *data;
	size_t left, pages;
	struct mapping maps[MOST_MAPPINGS];
	uint8_t *memory[MOST_MAPPINGS];
	size_t n;
};

static bool take(struct image *im, void *out, size_t n)
{
	if (im->left < n)
		return false;
	memcpy(out, im->data, n);
	im->data += n;
	im->left -= n;
	return true;
}

static bool overlaps(const struct image *im, taddr lo, taddr hi)
{
	for (size_t i = 0; i < im->n; i++)
		if (im->maps[i].lo < hi && lo < im->maps[i].hi)
			return true;
	return false;
}

static void take_mapping(struct image *im)
{
	struct image_mapping m;
	taddr lo, hi;

	if (!take(im, &m, sizeof(m)) || im->n == MOST_MAPPINGS || !m.pages || im->pages + m.pages > MOST_PAGES)
		return;
	lo = m.at & ~(taddr)(SNAPSHOT_PAGE - 1);
	hi = lo + (taddr)m.pages * SNAPSHOT_PAGE;
	if (hi <= lo || overlaps(im, lo, hi))
		return;
	im->memory[im->n] = calloc(m.pages, SNAPSHOT_PAGE);
	if (!im->memory[im->n])
		return;
	im->maps[im->n++] = (struct mapping){ .lo = lo, .hi = hi, .perms = m.perms, .ino = m.file, .path = "" };
	im->pages += m.pages;
}

static void take_words(struct image *im)
{
	struct image_words w;
	uint64_t word;

	if (!take(im, &w, sizeof(w)))
		return;
	for (unsigned k = 0; k < w.n && take(im, &word, sizeof(word)); k++) {
		const taddr at = (w.at & ~7ull) + 8 * (taddr)k;

		for (size_t i = 0; i < im->n; i++)
			if (at >= im->maps[i].lo && at < im->maps[i].hi)
				memcpy(im->memory[i] + (at - im->maps[i].lo), &word, sizeof(word));
	}
}

static void take_thread(struct image *im, struct snapshot *s)
{
	struct snapshot_thread t = { .tid = (pid_t)s->nthreads + 1, .known = true };
	struct image_thread it;

	if (!take(im, &it, sizeof(it)))
		return;
	t.sp = it.sp;
	t.regs.orig_rax = it.orig_rax;
	t.regs.fs_base = it.fs_base;
	t.regs.rsp = it.sp;
	t.regs.rax = it.rax;
	t.regs.rbx = it.rbx;
	t.regs.rbp = it.rbp;
	if (s->nthreads < 16 && snapshot_add_thread(s, &t) < 0)
		return;
}

static int by_address(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

static bool make_snapshot(struct image *im, struct snapshot *s)
{
	snapshot_init(s);
	while (im->left) {
		uint8_t tag;

		if (!take(im, &tag, 1))
			break;
		if (tag == IMAGE_MAPPING)
			take_mapping(im);
		else if (tag == IMAGE_WORDS)
			take_words(im);
		else if (tag == IMAGE_THREAD)
			take_thread(im, s);
	}
	for (size_t i = 0; i < im->n; i++)
		if (snapshot_add_piece(s, im->maps[i].lo, im->maps[i].hi - im->maps[i].lo, im->memory[i]) < 0)
			return false;
	qsort(im->maps, im->n, sizeof(*im->maps), by_address);
	s->maps.maps = im->maps;
	s->maps.n = im->n;
	return snapshot_seal(s) == 0;
}

static bool in_area(const struct census *c, const struct block *b)
{
	size_t lo = 0, hi = c->nareas;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (c->areas[mid].hi <= b->addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* an ordinary block also uses the word behind it, which belongs to the next chunk */
	return lo < c->nareas && c->areas[lo].lo < b->addr && b->addr + b->size <= c->areas[lo].hi;
}

static void check(const struct census *c)
{
	for (size_t i = 0; i < c->nareas; i++)
		promised(c->areas[i].lo < c->areas[i].hi && (!i || c->areas[i - 1].hi <= c->areas[i].lo));
	for (size_t i = 0; i < c->nblocks; i++) {
		promised(c->blocks[i].addr % 16 == 0 && in_area(c, &c->blocks[i]));
		promised(!i || c->blocks[i - 1].addr + c->blocks[i - 1].size <= c->blocks[i].addr - 8);
	}
	for (size_t i = 1; i < c->nown; i++)
		promised(c->own[i - 1].addr <= c->own[i].addr);
	promised(c->known || (c->nproblems && !c->nblocks && !c->nareas));
	promised(!c->nproblems == !c->problem.what[0]);
	(void)census_adds_up(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image im = { .data = data, .left = size };
	struct snapshot s;
	struct census c;

	if (make_snapshot(&im, &s) && census_take(&s, &c) == 0) {
		check(&c);
		census_fini(&c);
	}
	/* the mappings and their memory do not belong to the snapshot */
	s.maps.maps = NULL;
	s.maps.n = 0;
	snapshot_fini(&s);
	for (size_t i = 0; i < im.n; i++)
		free(im.memory[i]);
	return 0;
}
