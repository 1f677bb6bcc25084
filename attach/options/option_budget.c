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
		usage_refuse(err, "--budget %s: must be a percentage", arg);
		return usage_advise(err, "for example --budget 1%%: the target's threads are stopped for at "
					 "most a hundredth of the time");
	}
	if (o->budget_ppm < LEAST_PPM) {
		usage_refuse(err, "--budget %s: must be at least 0.05%%", arg);
		return usage_advise(err, "less than that is used up by attaching; 1%% is usual");
	}
	if (o->budget_ppm > MOST_PPM) {
		usage_refuse(err, "--budget %s: must be at most 50%%", arg);
		return usage_advise(err, "without --budget every call is seen, whatever that costs");
	}
	return 0;
}

static const char *why_not(const struct options *o)
{
	if (o->what.growth)
		return "not with --growth, which costs next to nothing, and sees each time that memory grows";
	if (o->command == COMMAND_GDB)
		return "not under gdb, whose breakpoints cannot be lifted in time";
	if (o->program)
		return "not with -- PROGRAM: samples show little of a program's first moments; start it, and "
		       "watch it with -p";
	if (o->verdicts == VERDICTS_YES)
		return "not with --verdicts yes, which stops the process for as long as a copy of its memory "
		       "takes";
	if (o->what.exact_sizes)
		return "not with --sizes exact, which needs a trap where each call begins; there is one only "
		       "where it returns";
	if (o->free_stacks)
		return "not with --free-stacks, which needs to see each free; frees have no traps";
	if (o->what.threads.n || o->what.modules.n)
		return "not with --thread or --module, which leave out allocations; what is seen must be a "
		       "fair sample of all";
	if (o->stacks.unwinder != UNWINDER_CFI)
		return "not with --unwinder dwfl, libunwind or check, for which threads have to wait";
	if (o->stacks.depth < 2 || !o->stacks.bytes)
		return "not with --depth 1 or --stack-bytes 0: without the callers of the function that "
		       "calls malloc, all callers of a wrapper are one allocation site";
	return NULL;
}

int option_budget_check(const struct options *o, struct usage_error *err)
{
	const char *why = o->budget_ppm ? why_not(o) : NULL;

	return why ? usage_refuse(err, "--budget: %s", why) : 0;
}
