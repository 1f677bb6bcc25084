/* SPDX-License-Identifier: MIT */
#include "report/words/memory_growth.h"

#include "report/model/text_parts.h"

int64_t memory_growth_of(const struct summary *s, const struct summary_memory *m)
{
	const int64_t grew = summary_memory_growth(m);

	/* a trace may have any number */
	if (grew <= 0)
		return grew;
	return s->run.code_copied < (uint64_t)grew ? grew - (int64_t)s->run.code_copied : 0;
}

bool memory_growth_unexplained(const struct summary *s, const struct summary_memory *m)
{
	const int64_t grew = m ? memory_growth_of(s, m) : 0;

	return grew >= MEMORY_GROWTH_MUCH && text_counts_blocks(s) && summary_memory_explained(s) < (uint64_t)grew / 2;
}
