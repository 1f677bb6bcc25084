/* SPDX-License-Identifier: MIT */
/* codesweep: a byte of marks for each byte of code. */
#include "attach/probes/codesweep.h"

#include <errno.h>
#include <stdlib.h>

#define SWEEP_MAX (8UL << 20)	/* no function is as long */

enum mark {
	MARK_START = 1,		/* an instruction begins here */
	MARK_RETURN = 2,	/* the one before is a call */
	MARK_TARGET = 4,	/* a jump goes here */
};

static void note(struct codesweep *s, const struct insn *in)
{
	size_t at = in->addr - s->range.lo, n = s->range.hi - s->range.lo;

	s->marks[at] |= MARK_START;
	if (in->flow == FLOW_CALL && at + in->len < n)
		s->marks[at + in->len] |= MARK_RETURN;
	if ((in->flow == FLOW_JUMP || in->flow == FLOW_BRANCH) && in->target_known && in->target - s->range.lo < n)
		s->marks[in->target - s->range.lo] |= MARK_TARGET;
}

static bool jumps_arrive(const struct codesweep *s)
{
	for (size_t i = 0; i < s->reached; i++) {
		if ((s->marks[i] & (MARK_START | MARK_TARGET)) == MARK_TARGET)
			return false;
	}
	return true;
}

int codesweep_run(struct decoder *d, const uint8_t *code, struct code_range range, struct codesweep *out)
{
	size_t n = range.hi - range.lo;
	struct insn in;

	*out = (struct codesweep){ .range = range };
	if (range.hi <= range.lo || n > SWEEP_MAX)
		return 0;
	out->marks = calloc(n, 1);
	if (!out->marks)
		return -ENOMEM;
	for (; out->reached < n; out->reached += in.len) {
		if (decode(d, code + out->reached, n - out->reached, range.lo + out->reached, &in))
			break;
		note(out, &in);
	}
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
	return s->in_step && addr >= s->range.lo && addr - s->range.lo < s->reached && (s->marks[addr - s->range.lo] & marks) == marks;
}

bool codesweep_returns_to(const struct codesweep *s, taddr addr)
{
	return has(s, addr, MARK_START | MARK_RETURN);
}

bool codesweep_jumps_to(const struct codesweep *s, taddr addr)
{
	return has(s, addr, MARK_TARGET);
}
