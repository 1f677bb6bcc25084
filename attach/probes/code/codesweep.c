/* SPDX-License-Identifier: MIT */
/* codesweep: a byte of marks for each byte of code, and one for the end. */
#include "attach/probes/code/codesweep.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/probes/code/insnlen.h"

enum mark {
	MARK_START = 1,		/* an instruction begins here */
	MARK_RETURN = 2,	/* the one before is a call */
	MARK_LEFT = 4,		/* the one before leaves the function */
	MARK_TARGET = 8,	/* a jump goes here */
	/*
	 * the instruction began one byte before, with a lock: some code jumps past that prefix if the process
	 * has one thread
	 */
	MARK_BEHIND_LOCK = 16,
};

static void mark_end(struct codesweep *s, unsigned mark, size_t end)
{
	s->marks[end] |= (uint8_t)mark;
	s->exits += mark == MARK_LEFT;
}

static void mark_insn(struct codesweep *s, const uint8_t *code, const struct insn_shape *in)
{
	size_t at = s->reached, end = at + in->len, to = end + (size_t)(ssize_t)in->rel;
	bool inside = in->jump && to < s->range.hi - s->range.lo;

	s->marks[at] |= MARK_START;
	if (code[at] == 0xf0)
		s->marks[at + 1] |= MARK_BEHIND_LOCK;
	if (in->call)
		mark_end(s, MARK_RETURN, end);
	if (inside)
		s->marks[to] |= MARK_TARGET;
	else if (in->jump || in->leaves)
		mark_end(s, MARK_LEFT, end);
}

static bool jumps_arrive(const struct codesweep *s)
{
	for (size_t i = 0; i < s->reached; i++) {
		if (s->marks[i] & MARK_TARGET && !(s->marks[i] & (MARK_START | MARK_BEHIND_LOCK)))
			return false;
	}
	return true;
}

int codesweep_run(const uint8_t *code, struct code_range range, struct codesweep *out)
{
	size_t n = range.hi - range.lo;
	struct insn_shape in;

	*out = (struct codesweep){ .range = range };
	if (range.hi <= range.lo || n > CODESWEEP_MAX)
		return 0;
	out->marks = calloc(n + 1, 1);
	if (!out->marks)
		return -ENOMEM;
	for (; out->reached < n && insn_shape(code + out->reached, n - out->reached, &in);
	     out->reached += in.len)
		mark_insn(out, code, &in);
	out->in_step = jumps_arrive(out);
	return 0;
}

void codesweep_fini(struct codesweep *s)
{
	free(s->marks);
	*s = (struct codesweep){ .marks = NULL };
}

static bool has(const struct codesweep *s, taddr addr, unsigned marks)
{
	return s->in_step && addr >= s->range.lo && addr <= s->range.hi &&
	       (s->marks[addr - s->range.lo] & marks) == marks;
}

bool codesweep_returns_to(const struct codesweep *s, taddr addr)
{
	return has(s, addr, MARK_START | MARK_RETURN);
}

bool codesweep_leaves_before(const struct codesweep *s, taddr addr)
{
	return has(s, addr, MARK_LEFT);
}

bool codesweep_jumps_to(const struct codesweep *s, taddr addr)
{
	return has(s, addr, MARK_TARGET);
}
