/* SPDX-License-Identifier: MIT */
#include "base/verdict.h"

const char *verdict_name(enum verdict v)
{
	static const char *const names[] = {
#define X(upper, lower) [VERDICT_##upper] = #lower,
		VERDICTS(X)
#undef X
	};

	return (unsigned)v < VERDICT_COUNT ? names[v] : names[VERDICT_UNKNOWN];
}

const char *verdict_text(enum verdict v)
{
	static const char *const texts[VERDICT_COUNT] = {
		[VERDICT_UNKNOWN] = "not known",	 [VERDICT_DEFINITE] = "definitely lost",
		[VERDICT_INDIRECT] = "indirectly lost",	 [VERDICT_POSSIBLE] = "possibly lost",
		[VERDICT_REACHABLE] = "still reachable",
	};

	return (unsigned)v < VERDICT_COUNT ? texts[v] : texts[VERDICT_UNKNOWN];
}
