/* SPDX-License-Identifier: MIT */
/* sampled_longer: see sampled_longer.h. */
#include "report/model/sampled_longer.h"

#include <math.h>

#include "report/model/sampled.h"
#include "report/model/unknown_reason.h"

#define BASIS 3u	/* blocks: with fewer, the rate at which they are tracked is a guess */
/* then eight become old enough in nine of ten watches: 58 % of them do, if the age is two fifths of the watch */
#define MARGIN 2.6
#define POINTED_MARGIN 2	/* several blocks are to become so old */

static double longer(const struct summary_sample *its, uint64_t tracked, double seconds)
{
	if (tracked < BASIS || tracked >= SURVIVAL_ENOUGH)
		return 0;
	return fmax(seconds * MARGIN * SURVIVAL_ENOUGH / (double)tracked, seconds + its->survival.min_age_s);
}

enum sampled_advice sampled_advice(const struct summary_sample *its, double seconds, double *longer_s)
{
	*longer_s = 0;
	switch (unknown_reason(its)) {
	case UNKNOWN_FEW:
		*longer_s = longer(its, its->survival.followed, seconds);
		return ADVICE_LONGER;
	case UNKNOWN_FEW_LEFT:
		*longer_s = longer(its, its->survival.old, seconds);
		return ADVICE_LONGER;
	case UNKNOWN_POINTED_TO:
		*longer_s = fmax(SAMPLED_OLD_S * POINTED_MARGIN, seconds + SAMPLED_OLD_S);
		return ADVICE_LONGER;
	case UNKNOWN_UNNOTICED:
	case UNKNOWN_NOTICED:
		return ADVICE_BUDGET;
	case UNKNOWN_SOME_LATE:
		return ADVICE_LIFETIME;
	case UNKNOWN_OTHERS:
	case UNKNOWN_WRITTEN:
	case UNKNOWN_HARDLY_ANY:
		return ADVICE_EXACT;
	default:
		return ADVICE_LONGER;
	}
}
