/* SPDX-License-Identifier: MIT */
#include "attach/options/option_budget.h"

#include <errno.h>
#include <string.h>

#include "attach/options/option_arg.h"

#define LEAST_PPM 500u		/* being attached uses up a smaller budget */
#define MOST_PPM 500000u
#define DIGITS 4		/* behind the point */
#define FAR_TOO_MUCH 1000000000000ull

/* Parse "1" or "0.5%" (but not "2.25 %") into millionths. false: no percentage, or too many decimals. */
static bool parse(const char *s, uint32_t *ppm)
{
	uint64_t value = 0;
	int digits = 0, behind = -1;

	for (; (*s >= '0' && *s <= '9') || (*s == '.' && behind < 0); s++) {
		if (*s == '.') {
			behind = 0;
			continue;
		}
		if (behind >= DIGITS)
			return false;
		if (value < FAR_TOO_MUCH)
			value = value * 10 + (uint64_t)(*s - '0');
		digits++;
		behind += behind >= 0;
	}
	for (int i = behind < 0 ? 0 : behind; i < DIGITS; i++)
		value *= 10;
	*ppm = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
	return digits && (!*s || !strcmp(s, "%"));
}

int option_budget(struct options *o, const char *arg, struct usage_error *err)
{
	if (!parse(arg, &o->budget_ppm)) {
		usage_refuse(err, "--budget %s: it is a percentage", arg);
		return usage_advise(err, "for example --budget 1%%: threads of the target stand still for us "
					 "for no more than a hundredth of the time");
	}
	if (o->budget_ppm < LEAST_PPM) {
		usage_refuse(err, "--budget %s: nothing can be seen for so little", arg);
		return usage_advise(err, "from 0.05%% on; 1%% is usual");
	}
	if (o->budget_ppm > MOST_PPM) {
		usage_refuse(err, "--budget %s: it is 50%% at most", arg);
		return usage_advise(err, "without --budget every call is seen, at what that takes");
	}
	return 0;
}

static const char *why_not(const struct options *o)
{
	if (o->what.growth)
		return "--growth costs next to nothing as it is, and sees each time that memory grows";
	if (o->command == COMMAND_GDB)
		return "under gdb the traps are gdb's, and none is lifted in time";
	if (o->program)
		return "what a program takes in its first moments is not to be seen in samples; start it, "
		       "and watch it with -p";
	if (o->verdicts == VERDICTS_YES)
		return "--verdicts yes stops the process for as long as a copy of it takes, which no budget "
		       "bounds";
	if (o->max_pause_ns)
		return "nothing is paused, so --max-pause means nothing";
	if (o->what.exact_sizes)
		return "--sizes exact needs to see each call begin, and only where it returns is there a "
		       "trap";
	if (o->free_stacks)
		return "--free-stacks needs to see each release, and none is trapped";
	if (o->what.threads.n || o->what.modules.n)
		return "--thread and --module leave out what others take, and what is seen must be a fair "
		       "sample of all";
	if (o->stacks.unwinder != UNWINDER_CFI)
		return "another unwinder than our own makes threads wait";
	if (o->stacks.depth < 2 || !o->stacks.bytes)
		return "the callers of a function that calls malloc must be seen, or all callers of a "
		       "wrapper are one allocation site; with --depth 1 or --stack-bytes 0 none is seen";
	return NULL;
}

int option_budget_check(const struct options *o, struct usage_error *err)
{
	const char *why = o->budget_ppm ? why_not(o) : NULL;

	return why ? usage_refuse(err, "--budget: %s", why) : 0;
}
