/* SPDX-License-Identifier: MIT */
/*
 * reach: a heap, data and a stack with any contents: every block gets a verdict, an indirectly lost block has
 * a leader that is definitely lost, and the number of threads makes no difference.
 *
 * The input is steps of four bytes: what to set, where, and to what (one of the four memories, and an offset
 * in it).
 */
#include "heap/reach/reach.h"

#include <errno.h>

#include "tests/fuzz/fuzz.h"

#define PLACE 4096u
#define BLOCKS 64u

/* data, heap, a thread's stack, the main thread's stack */
static const taddr places[] = { 0x600000, 0x7f0000000000, 0x7f0000010000, 0x7ffc00000000 };
static const char maps[] = "600000-601000 rw-p 00000000 00:01 7 /bin/x\n"
			   "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [heap]\n"
			   "7f000000f000-7f0000010000 ---p 00000000 00:00 0 \n"
			   "7f0000010000-7f0000011000 rw-p 00000000 00:00 0 \n"
			   "7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0 [stack]\n";

struct input {
	uint64_t bytes[4][PLACE / 8];
	struct snapshot s;
	struct census census;
	struct census_area area;
	struct block census_blocks[BLOCKS], blocks[BLOCKS], quiet;
	struct reach_input in;
};

/* An address in one of the four memories, at a multiple of 64 bytes, and up to 255 bytes more. */
static taddr address(uint8_t where, uint8_t more)
{
	return places[where % 4] + where / 4 * 64u + more;
}

static void add_block(struct block *to, size_t *n, uint8_t where, uint8_t size)
{
	const taddr at = places[1] + where * 16u + (size & 1);

	if (*n < BLOCKS && (!*n || to[*n - 1].addr < at))
		to[(*n)++] = (struct block){ at, size };
}

static void step(struct input *f, const uint8_t *s)
{
	const taddr value = s[0] & 0x80 ? address(s[2], s[3]) : s[2] ? s[2] : (uint64_t)-1 << s[3] % 64;

	switch (s[0] % 8) {
	case 0:
		add_block(f->census_blocks, &f->census.nblocks, s[1], s[3]);
		break;
	case 1:
		add_block(f->blocks, &f->in.nblocks, s[1], s[3]);
		break;
	case 2:
		f->s.threads[s[1] % 2].regs.rbx = value;
		break;
	case 3:
		f->s.threads[s[1] % 2].sp = f->s.threads[s[1] % 2].regs.rsp = value;
		break;
	case 4:
		f->s.threads[s[1] % 2].regs.fs_base = value;
		break;
	case 5:
		f->quiet = (struct block){ address(s[1], s[2]), s[3] };
		break;
	default:
		f->bytes[s[1] % 4][(s[1] / 4 * 8u + (s[0] >> 4 & 7)) % (PLACE / 8)] = value;
	}
}

static int make(struct input *f, const uint8_t *data, size_t size)
{
	const struct snapshot_thread t = { .tid = 1000, .known = true };

	snapshot_init(&f->s);
	f->s.pid = 1000;
	if (procmaps_parse(maps, sizeof(maps) - 1, &f->s.maps) < 0 || snapshot_add_thread(&f->s, &t) < 0 ||
	    snapshot_add_thread(&f->s, &t) < 0)
		return -ENOMEM;
	f->s.threads[1].tid = 1001;
	for (size_t i = 0; i < 4; i++)
		if (snapshot_add_piece(&f->s, places[i], PLACE, f->bytes[i]) < 0)
			return -ENOMEM;
	f->area = (struct census_area){ places[1], places[1] + PLACE, 0 };
	f->census = (struct census){ .known = true, .blocks = f->census_blocks, .areas = &f->area, .nareas = 1 };
	f->in = (struct reach_input){ .snapshot = &f->s, .census = &f->census, .blocks = f->blocks, .quiet = &f->quiet, .nquiet = 1,
				      .heuristics = REACH_ALL | REACH_OURS };
	for (size_t i = 0; i + 4 <= size; i += 4)
		step(f, data + i);
	return snapshot_seal(&f->s);
}

static void check(const struct reach_input *in, const struct reach *r)
{
	uint64_t judged = 0;

	promised(r->nblocks == in->nblocks && r->sums[VERDICT_UNKNOWN].blocks == 0);
	for (size_t i = 0; i < r->nblocks; i++) {
		promised(r->verdict[i] > VERDICT_UNKNOWN && r->verdict[i] < VERDICT_COUNT);
		promised(r->leader[i] < r->nblocks && r->leader[r->leader[i]] == r->leader[i]);
		promised(r->verdict[i] == VERDICT_INDIRECT || r->leader[i] == i);
		promised(r->leader[i] == i || r->verdict[r->leader[i]] == VERDICT_DEFINITE);
	}
	for (int v = 0; v < VERDICT_COUNT; v++)
		judged += r->sums[v].blocks;
	promised(judged == r->nblocks);
}

static void judge(struct reach_input *in, unsigned threads)
{
	struct reach one, two;

	in->threads = 1;
	if (reach_run(in, &one) < 0)
		return;
	check(in, &one);
	in->threads = threads;
	memset(&two, 0, sizeof(two));
	if (threads > 1 && reach_run(in, &two) == 0) {
		promised(memcmp(one.verdict, two.verdict, one.nblocks) == 0);
		promised(memcmp(one.leader, two.leader, one.nblocks * sizeof(*one.leader)) == 0);
	}
	reach_fini(&one);
	reach_fini(&two);
}

static void ask(const struct reach_input *in)
{
	struct strbuf doubts = STRBUF_INIT;
	struct pointer *p;
	size_t n, total;

	if (reach_who_points(in, places[1] + 64, 8, &p, &n, &total) == 0) {
		promised(n <= 8 && n <= total);
		free(p);
	}
	reach_doubts(in, &(struct reach){ .nheaders = 0 }, &doubts);
	strbuf_fini(&doubts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input *f = calloc(1, sizeof(*f));

	if (f && make(f, data, size) == 0) {
		judge(&f->in, 2);
		ask(&f->in);
		f->in.blocks = f->census_blocks;
		f->in.nblocks = f->census.nblocks;
		judge(&f->in, 1);
		f->in.census = NULL;
		judge(&f->in, 1);
	}
	if (f)
		snapshot_fini(&f->s);
	free(f);
	return 0;
}
