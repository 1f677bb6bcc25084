/* SPDX-License-Identifier: MIT */
/* out_csv: see out_csv.h. */
#include "report/out_csv.h"

#include "report/csv.h"

#define HEAD "family,blocks,bytes,bytes_direct,allocs,frees,oldest_s,youngest_s,verdict," \
	     "growth,bytes_per_minute,since_s,stack_end," CSV_WHERE

static void put_group(struct strbuf *sb, const struct summary_group *g)
{
	csv_string(sb, "", g->family);
	csv_number(sb, ",", g->blocks);
	csv_number(sb, ",", g->bytes);
	csv_number(sb, ",", g->bytes_direct);
	csv_number(sb, ",", g->allocs);
	csv_number(sb, ",", g->frees);
	csv_real(sb, ",", g->oldest_s);
	csv_real(sb, ",", g->youngest_s);
	csv_string(sb, ",", summary_verdict_name(g->verdict));
	csv_string(sb, ",", growth_name(g->growth.shape));
	csv_real(sb, ",", g->growth.bytes_per_minute);
	csv_real(sb, ",", g->growth.since_s);
	csv_string(sb, ",", summary_stack_end_name(g->stack_end));
	csv_where(sb, ",", g);
	csv_end(sb);
}

int out_csv(const struct summary *s, struct strbuf *sb)
{
	if (summary_error(s))
		return summary_error(s);
	strbuf_puts(sb, HEAD);
	csv_end(sb);
	for (size_t i = 0; i < s->ngroups; i++)
		put_group(sb, &s->groups[i]);
	return strbuf_error(sb);
}
