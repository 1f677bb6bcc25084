/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/rbloop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/probes/callsites.h"
#include "attach/stacks/ruby/iseqs.h"
#include "attach/stacks/scripts/script_language.h"

#define FRAMES_MOST 64u		/* of an execution, the outermost ones: they stay while it is read */

/* Where the function begins that has @label behind its beginning. 0: there is none in @m. */
static taddr function_of_label(const struct module *m, taddr label)
{
	const taddr at = label - m->bias;
	struct code_range range;

	return elfimage_extent(m->img, at, &range) && range.lo != at ? range.lo : 0;
}

/* Of what the frame at @at executes. 0: nothing that is known. */
static taddr function_of_frame(const struct module *m, int mem, const struct rb_layout *l, taddr at)
{
	uint64_t iseq, pc, label;

	if (!script_read_word(mem, at + l->chain.code, &iseq) ||
	    !script_read_word(mem, at + l->chain.at, &pc) || !iseqs_first_word(mem, iseq, pc, &label))
		return 0;
	return function_of_label(m, label);
}

int rb_loop_core(const struct module *m, int mem, const struct rb_layout *l, taddr execution, taddr *core)
{
	const uint16_t stride = l->chain.stride;
	uint64_t words[3];	/* where its stack begins, how many words it has, the innermost frame */
	taddr at;

	*core = 0;
	if (!script_read(mem, execution + l->chain.array, words, sizeof(words)))
		return -EAGAIN;
	at = words[0] + 8 * words[1];
	for (uint32_t i = 0; i < FRAMES_MOST && at > words[2] && at - words[2] >= stride; i++) {
		const taddr function = function_of_frame(m, mem, l, at -= stride);

		if (function && *core && function != *core)
			return -EAGAIN;
		*core = function ? function : *core;
	}
	return *core ? 0 : -EAGAIN;
}

/* Do all @n calls come from one function, which is not what they call? */
static bool is_one(const struct callsite *calls, size_t n, taddr core)
{
	for (size_t i = 0; i < n; i++)
		if (calls[i].function != calls[0].function || calls[i].function == core)
			return false;
	return n;
}

int rb_loop_caller(const struct module *m, taddr core, struct code_range *loop)
{
	const struct callsite_target target = { .addr = core };
	struct code_range range;
	struct callsite *calls;
	size_t n, unsure;
	int r = callsites_find(m->img, &target, 1, &calls, &n, &unsure);

	if (r < 0)
		return r;
	r = -ENOENT;
	if (!unsure && is_one(calls, n, core) && elfimage_extent(m->img, calls[0].function, &range)) {
		*loop = (struct code_range){ range.lo + m->bias, range.hi + m->bias };
		r = 0;
	}
	free(calls);
	return r;
}
