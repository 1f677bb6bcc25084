/* SPDX-License-Identifier: MIT */
/*
 * core_parts: the mapped core file and what was read from it so far; shared by core*.c, and private to them.
 */
#ifndef MM_CORE_PARTS_H
#define MM_CORE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/snapshot/core.h"

/* A PT_LOAD: the file has @here bytes at @offset; it should have @said. */
struct core_load {
	taddr lo, hi;
	uint64_t offset, whole_size, here;
	unsigned flags;		/* PF_R, PF_W, PF_X */
};

/* A PT_NOTE, as far as the file has it. */
struct core_note {
	uint64_t offset, size;
	bool cut;
};

/* A line of NT_FILE. */
struct core_file {
	taddr lo, hi;
	uint64_t offset;
	const char *path;	/* into s->maps.text */
};

struct core {
	int fd;
	const uint8_t *bytes;	/* the file, mapped; owned by the snapshot */
	uint64_t size;
	struct core_load *loads;
	size_t nloads, load_room;
	struct core_note *notes;
	size_t nnotes, note_room;
	struct core_file *files;
	size_t nfiles;
	uint64_t copied;	/* bytes copied because they are not aligned in the file */
	taddr stack;		/* an address in the main thread's stack; 0: not known */
	struct snapshot *s;
	struct core_info *info;
};

/* core_headers.c: is it a core? Loads and notes. 0; -ENOEXEC with info->why; -ENOMEM. */
must_check int core_read_headers(struct core *c);

/* core_notes.c: threads, files (s->maps.text), the program. 0 or -ENOMEM; what is damaged is counted. */
must_check int core_read_notes(struct core *c);

/* core_memory.c: mappings, pieces, holes from loads and files. 0 or -ENOMEM. */
must_check int core_read_memory(struct core *c);

#endif
