/* SPDX-License-Identifier: MIT */
#include "report/model/unknown_reason.h"

#define MOST_FREED 0.5		/* less is left */

static const char *const names[] = {
#define X(upper, lower) [UNKNOWN_##upper] = #lower,
	UNKNOWN_REASONS(X)
#undef X
};

const char *unknown_name(enum unknown_reason reason)
{
	return names[reason];
}

uint64_t unknown_lost(const struct summary_sample *its)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < SURVIVAL_STEPS; i++)
		sum += its->steps[i].unknown;
	return sum;
}

/* The old blocks are not freed, but that is not enough to say that they leak. */
static enum unknown_reason why_still(const struct summary_sample *its)
{
	if (its->survival.share <= SURVIVAL_CHANCE)
		return UNKNOWN_HARDLY_ANY;
	/* several processes, none of which has enough by itself */
	return its->late_seen ? UNKNOWN_FEW : UNKNOWN_NO_TABLE;
}

enum unknown_reason unknown_reason(const struct summary_sample *its)
{
	const struct survival *v = &its->survival;

	if (v->kind != SURVIVAL_UNKNOWN)
		return UNKNOWN_NONE;
	if (v->followed < SURVIVAL_ENOUGH)
		return UNKNOWN_FEW;
	if (its->doubt == SURVIVAL_OTHERS)
		return UNKNOWN_OTHERS;
	if (its->doubt == SURVIVAL_POINTED_TO)
		return UNKNOWN_POINTED_TO;
	if (unknown_lost(its) >= v->followed / 2 + v->followed % 2)
		return UNKNOWN_WRITTEN;
	if (v->old < SURVIVAL_ENOUGH && v->share < MOST_FREED)
		return UNKNOWN_FEW_LEFT;
	if (v->age_s < v->min_age_s)
		return UNKNOWN_YOUNG;
	if (its->doubt != SURVIVAL_SURE)
		return its->doubt == SURVIVAL_UNNOTICED ? UNKNOWN_UNNOTICED : UNKNOWN_NOTICED;
	if (v->old < SURVIVAL_ENOUGH)
		return UNKNOWN_FEW;
	return survival_is_still(v) ? why_still(its) : UNKNOWN_SOME_LATE;
}

bool unknown_for_want(enum unknown_reason reason)
{
	return reason == UNKNOWN_FEW || reason == UNKNOWN_YOUNG || reason == UNKNOWN_UNNOTICED ||
	       reason == UNKNOWN_NOTICED || reason == UNKNOWN_FEW_LEFT || reason == UNKNOWN_NO_TABLE;
}
