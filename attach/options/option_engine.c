/* SPDX-License-Identifier: MIT */
#include "attach/options/option_engine.h"

#include <errno.h>
#include <stddef.h>

#include "attach/options/option_arg.h"
#include "base/log.h"

#define LEAST_SAMPLE 1024
#define MOST_SAMPLE (1ull << 40)	/* with more, sums of what the blocks stand for would overflow */

int option_engine(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--engine", ENGINE_VALUES, arg, &which, err);

	if (ret == 0)
		o->engine = which;
	o->engine_given = true;
	return ret;
}

int option_sample(struct options *o, const char *arg, struct usage_error *err)
{
	int ret = option_size("--sample", arg, &o->sample_bytes, err);

	if (ret == 0 && o->sample_bytes < LEAST_SAMPLE)
		return usage_refuse(err, "--sample %s: must be at least 1K", arg);
	if (ret == 0 && o->sample_bytes > MOST_SAMPLE)
		return usage_refuse(err, "--sample %s: must be at most 1T", arg);
	/* ptrace would have to stop at each call to find out whether it is in the sample */
	if (!o->engine_given)
		o->engine = ENGINE_UPROBE;
	return ret;
}

const char *option_engine_why_not(const struct options *o)
{
	if (o->budget_ppm)
		return "a budget is kept by lifting traps, which the kernel takes too long for";
	if (o->command == COMMAND_GDB)
		return "under gdb its breakpoints take the hits";
	if (o->stacks.unwinder != UNWINDER_CFI)
		return "no thread waits, as --unwinder dwfl, libunwind and check need";
	return NULL;
}

/* What a sample cannot be combined with. */
static const char *against_sample(const struct options *o)
{
	if (o->budget_ppm)
		return "not with --budget, which is another way to sample, by ptrace";
	if (o->engine == ENGINE_PTRACE)
		return "not with --engine ptrace, which would have to stop at each call";
	if (o->what.growth)
		return "not with --growth, which sees each time that memory grows, and costs next to nothing";
	if (o->shown.per_object)
		return "not with --per-object: references cannot be sampled";
	/* --engine auto would fall back to ptrace */
	return o->engine == ENGINE_AUTO ? option_engine_why_not(o) : NULL;
}

int option_engine_check(const struct options *o, struct usage_error *err)
{
	const char *against = o->sample_bytes ? against_sample(o) : NULL;

	const char *why = o->engine == ENGINE_PTRACE || o->engine == ENGINE_AUTO ? NULL : option_engine_why_not(o);

	if (against)
		return usage_refuse(err, "--sample: %s", against);
	return why ? usage_refuse(err, "--engine uprobe: %s (--engine ptrace can)", why) : 0;
}

int option_engine_check_rules(const struct options *o, bool inside)
{
	if (!inside || o->engine == ENGINE_PTRACE || (o->engine == ENGINE_AUTO && !o->sample_bytes))
		return 0;
	log_error("--engine uprobe: --in and `in` rules are not followed in the kernel (--engine ptrace can)");
	return -EINVAL;
}

const char *option_engine_asked(const struct options *o)
{
	if (o->engine == ENGINE_AUTO)
		return "auto";
	if (o->engine == ENGINE_PTRACE)
		return o->engine_given ? "ptrace" : NULL;
	return "uprobe";
}

const char *option_engine_way(const struct options *o)
{
	return o->engine == ENGINE_UPROBE_SESSION ? "session" : o->engine == ENGINE_UPROBE_MULTI ? "multi" :
	       o->engine == ENGINE_UPROBE_PERF ? "perf" : NULL;
}
