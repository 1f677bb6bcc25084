/* SPDX-License-Identifier: MIT */
/* A snapshot made by hand: ranges of memory, threads, and the lines of /proc/PID/maps for them. */
#ifndef MEMORY_EXAMPLE_H
#define MEMORY_EXAMPLE_H

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "heap/snapshot/snapshot.h"

struct memory_example {
	struct snapshot s;
	struct strbuf maps;
};

static inline void example_init(struct memory_example *m)
{
	snapshot_init(&m->s);
	strbuf_init(&m->maps);
	m->s.pid = 1000;
}

/* @size bytes of zeros at @lo, mapped with @perms ("rw-p") and @path; returns the words to write to. */
static inline uint64_t *example_map(struct memory_example *m, taddr lo, uint64_t size, const char *perms,
				    const char *path)
{
	uint64_t *bytes = calloc(1, size);

	assert_non_null(bytes);
	assert_int_equal(snapshot_own(&m->s, bytes, 0), 0);
	assert_int_equal(snapshot_add_piece(&m->s, lo, size, bytes), 0);
	strbuf_printf(&m->maps, "%" PRIx64 "-%" PRIx64 " %s 00000000 00:%s %d %s\n", lo, lo + size, perms,
		      *path == '/' ? "01" : "00", *path == '/' ? 7 : 0, path);
	return bytes;
}

/* A mapping without contents in the snapshot. */
static inline void example_gap(struct memory_example *m, taddr lo, uint64_t size, const char *perms,
			       const char *path)
{
	strbuf_printf(&m->maps, "%" PRIx64 "-%" PRIx64 " %s 00000000 00:%s %d %s\n", lo, lo + size, perms,
		      *path == '/' ? "01" : "00", *path == '/' ? 7 : 0, path);
}

static inline struct snapshot_thread *example_thread(struct memory_example *m, pid_t tid, taddr sp)
{
	const struct snapshot_thread t = { .tid = tid, .known = true, .sp = sp, .regs.rsp = sp };

	assert_int_equal(snapshot_add_thread(&m->s, &t), 0);
	return &m->s.threads[m->s.nthreads - 1];
}

static inline void example_seal(struct memory_example *m)
{
	assert_int_equal(procmaps_parse(strbuf_str(&m->maps), m->maps.len, &m->s.maps), 0);
	assert_int_equal(snapshot_seal(&m->s), 0);
}

static inline void example_fini(struct memory_example *m)
{
	snapshot_fini(&m->s);
	strbuf_fini(&m->maps);
}

#endif
