/* SPDX-License-Identifier: MIT */
#include "attach/stacks/python/debug_offsets.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Words of _Py_DebugOffsets, by number: the same in all releases of 3.13. */
enum {
	OFFSETS_FREE_THREADED = 2,
	OFFSETS_INTERPRETERS = 5,
	OFFSETS_NEXT_INTERPRETER = 8,
	OFFSETS_THREADS,
	OFFSETS_NEXT_THREAD = 21,
	OFFSETS_FRAME = 23,
	OFFSETS_THREAD_ID,
	OFFSETS_PREVIOUS = 29,
	OFFSETS_EXECUTABLE,
	OFFSETS_INSTR,
	OFFSETS_OWNER = 33,
	OFFSETS_FILENAME = 35,
	OFFSETS_QUALNAME = 37,
	OFFSETS_LINETABLE,
	OFFSETS_FIRST_LINE,
	OFFSETS_BYTECODE = DEBUG_OFFSETS_WORDS - 1,
};

static bool are_offsets(const uint64_t *words)
{
	static const uint8_t used[] = {
		OFFSETS_INTERPRETERS, OFFSETS_NEXT_INTERPRETER, OFFSETS_THREADS,   OFFSETS_NEXT_THREAD,
		OFFSETS_FRAME,	      OFFSETS_THREAD_ID,	OFFSETS_PREVIOUS,  OFFSETS_EXECUTABLE,
		OFFSETS_INSTR,	      OFFSETS_OWNER,		OFFSETS_FILENAME,  OFFSETS_QUALNAME,
		OFFSETS_LINETABLE,    OFFSETS_FIRST_LINE,	OFFSETS_BYTECODE,
	};

	for (size_t i = 0; i < sizeof(used); i++)
		if (words[used[i]] >= UINT16_MAX)
			return false;
	return memcmp(words, "xdebugpy", sizeof(*words)) == 0;
}

static void copy_offsets(const uint64_t *w, struct layout *l)
{
	l->interpreters = (uint16_t)w[OFFSETS_INTERPRETERS];
	l->next_interpreter = (uint16_t)w[OFFSETS_NEXT_INTERPRETER];
	l->threads = (uint16_t)w[OFFSETS_THREADS];
	l->next_thread = (uint16_t)w[OFFSETS_NEXT_THREAD];
	l->chain.owner = (uint16_t)w[OFFSETS_THREAD_ID];
	l->chain.head = (uint16_t)w[OFFSETS_FRAME];
	l->chain.next = (uint16_t)w[OFFSETS_PREVIOUS];
	l->chain.code = (uint16_t)w[OFFSETS_EXECUTABLE];
	l->chain.at = (uint16_t)w[OFFSETS_INSTR];
	l->chain.kind = (uint16_t)w[OFFSETS_OWNER];
	l->chain.link_bytes = (uint16_t)(w[OFFSETS_OWNER] + 2);
	l->code.filename = (uint16_t)w[OFFSETS_FILENAME];
	l->code.name = (uint16_t)w[OFFSETS_QUALNAME];
	l->code.lines = (uint16_t)w[OFFSETS_LINETABLE];
	l->code.first_line = (uint16_t)w[OFFSETS_FIRST_LINE];
}

/* The table is the target's, and may say anything: what is read at an offset must lie in what is copied. */
static bool fits(const struct layout *l)
{
	const uint16_t in_link[] = { l->chain.next, l->chain.code, l->chain.at };
	const uint16_t in_code[] = { l->code.filename, l->code.name, l->code.lines, l->code.first_line };

	for (size_t i = 0; i < sizeof(in_link) / sizeof(*in_link); i++)
		if (in_link[i] + sizeof(uint64_t) > l->chain.link_bytes)
			return false;
	for (size_t i = 0; i < sizeof(in_code) / sizeof(*in_code); i++)
		if (in_code[i] + sizeof(uint64_t) > l->code.size)
			return false;
	return l->chain.link_bytes <= CHAIN_LINK_MOST;
}

void debug_offsets_take(const uint64_t words[DEBUG_OFFSETS_WORDS], struct layout *l, char *why, size_t n)
{
	if (!are_offsets(words)) {
		snprintf(why, n, "its table of offsets is not as expected");
		return;
	}
	copy_offsets(words, l);
	if (words[OFFSETS_FREE_THREADED])
		snprintf(why, n, "it is free-threaded");
	else if (words[OFFSETS_BYTECODE] != l->code.bytecode || !fits(l))
		snprintf(why, n, "its frames are not as those of a release");
}
