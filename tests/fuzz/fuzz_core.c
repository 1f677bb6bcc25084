/* SPDX-License-Identifier: MIT */
/*
 * core: a core file from any source. Whatever it contains, the snapshot is consistent: mappings and pieces
 * are sorted, and every piece can be read to its last byte. If it cannot be opened, there is a reason, and
 * nothing is left allocated.
 */
#include "heap/snapshot/core.h"

#include <sys/mman.h>

#include "tests/fuzz/fuzz.h"

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd >= 0 && pwrite(fd, data, size, 0) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

static void check_maps(const struct snapshot *s)
{
	for (size_t i = 0; i < s->maps.n; i++) {
		const struct mapping *m = &s->maps.maps[i];

		promised(m->lo < m->hi && m->path);
		promised(!i || s->maps.maps[i - 1].hi <= m->lo);
		promised(procmaps_find(&s->maps, m->lo) == m && procmaps_find(&s->maps, m->hi - 1) == m);
		promised(snapshot_kind_at(s, m->lo) != SNAPSHOT_NOTHING);
		promised(strlen(m->path) < 1u << 20);
	}
}

static void check_piece(const struct snapshot *s, const struct snapshot_piece *p)
{
	uint8_t first, last;
	uint64_t n;

	promised(p->size && p->size - 1 <= UINT64_MAX - p->lo);
	promised(((uintptr_t)p->bytes - p->lo) % 8 == 0);
	promised(!snapshot_read(s, p->lo, &first, 1) && first == p->bytes[0]);
	promised(!snapshot_read(s, p->lo + p->size - 1, &last, 1) && last == p->bytes[p->size - 1]);
	promised(snapshot_bytes(s, p->lo, &n) == p->bytes && n == p->size);
	promised(procmaps_find(&s->maps, p->lo));
}

static void check(const struct snapshot *s, const struct core_info *info)
{
	uint64_t bytes = 0;

	promised(s->sealed && !info->why[0]);
	check_maps(s);
	for (size_t i = 0; i < s->npieces; i++) {
		promised(!i || s->pieces[i - 1].lo + s->pieces[i - 1].size <= s->pieces[i].lo);
		check_piece(s, &s->pieces[i]);
		bytes += s->pieces[i].size;
	}
	promised(bytes == s->bytes);
	for (size_t i = 0; i < s->nholes; i++)
		promised(s->holes[i].lo < s->holes[i].hi);
	for (size_t i = 0; i < s->nthreads; i++) {
		uint8_t sum = 0;

		for (size_t k = 0; k < s->threads[i].nvectors; k++)
			sum ^= s->threads[i].vectors[k];
		promised(s->threads[i].known && s->threads[i].nvectors <= 65536 &&
			 (s->threads[i].nvectors || !sum));
	}
	promised(!info->exe || strlen(info->exe));
	promised(strlen(info->args) < sizeof(info->args) && strlen(s->comm) < sizeof(s->comm));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_close int fd = file_of(data, size);
	struct strbuf doubts = STRBUF_INIT;
	struct core_info info;
	struct snapshot s;
	char path[40];

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (core_open(path, &s, &info) == 0)
		check(&s, &info);
	else
		promised(info.why[0] && !s.npieces && !s.nthreads && !s.maps.n && !s.nowned);
	(void)core_doubts(&info, &doubts);
	strbuf_fini(&doubts);
	snapshot_fini(&s);
	return 0;
}
