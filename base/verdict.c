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
