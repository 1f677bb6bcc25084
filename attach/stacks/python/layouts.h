/* SPDX-License-Identifier: MIT */
/*
 * layouts: where CPython has what is read of it, by version: offsets in its structures, as its own headers
 * give them for x86-64. Those of its internal structures may differ between any two minor versions, so a
 * version that is not in the table is not read. From 3.13 on the interpreter has a table of the outer ones
 * itself (_Py_DebugOffsets).
 */
#ifndef MM_PYTHON_LAYOUTS_H
#define MM_PYTHON_LAYOUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/chain.h"

/* Which of the frames were entered by a call of the evaluation loop in C. */
enum layouts_entry {
	LAYOUTS_ENTRY_EACH,	/* each: before 3.11 */
	LAYOUTS_ENTRY_FLAG,	/* 3.11: those that say so; a struct _PyCFrame of each is on the C stack */
	LAYOUTS_ENTRY_SHIM,	/* 3.12: behind the last one there is one of no code, on the C stack */
};

enum layouts_lines {
	LAYOUTS_LINES_LNOTAB,	/* 3.9: pairs of differences */
	LAYOUTS_LINES_RANGES,	/* 3.10: PEP 626 */
	LAYOUTS_LINES_LOCATIONS, /* 3.11: PEP 657 */
};

struct layouts_code {
	uint16_t first_line, filename, name, lines, bytecode;	/* bytecode 0: positions are not addresses */
	uint16_t first_traceable;	/* in units of bytecode; 0: there is none */
	uint16_t size;			/* up to where it is read */
};

struct layout {
	uint16_t version;		/* 0x030b: 3.11 */
	bool describes_itself;		/* has _Py_DebugOffsets: what is marked * is there */
	enum layouts_entry entry;
	enum layouts_lines lines;
	uint8_t unit;			/* bytes of an index of bytecode, where positions are not addresses */
	uint16_t interpreters;		/* * in _PyRuntime: the first interpreter; */
	uint16_t next_interpreter, threads; /* * in an interpreter: the next one, its first thread; */
	uint16_t next_thread;		/* * in a thread */
	struct chain_plan chain;	/* all but the slot; * but kind */
	uint16_t outer_entry;		/* LAYOUTS_ENTRY_FLAG: in a _PyCFrame: the one outside of it */
	struct layouts_code code;
	uint16_t ascii, compact;	/* where the letters of a string begin: ASCII, others */
};

/* NULL: not known. */
const struct layout *layouts_find(uint16_t version);

#endif
