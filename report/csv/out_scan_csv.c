/* SPDX-License-Identifier: MIT */
/* out_scan_csv: see out_scan_csv.h. */
#include "report/csv/out_scan_csv.h"

#include <inttypes.h>

#include "report/csv/csv.h"

#define HEAD "verdict,label,class,class_module,blocks,bytes,indirect_blocks,indirect_bytes,size_low,size_high,content,sample," \
	     "stack_end," CSV_WHERE ",tag"

static void put_group(struct strbuf *sb, const struct summary_group *g)
{
	csv_string(sb, "", verdict_name(g->verdict));
	csv_string(sb, ",", g->kind.label);
	csv_string(sb, ",", g->kind.class_name);
	csv_string(sb, ",", g->kind.module);
	csv_number(sb, ",", g->blocks);
	csv_number(sb, ",", g->bytes);
	csv_number(sb, ",", g->kind.indirect_blocks);
	csv_number(sb, ",", g->kind.indirect_bytes);
	csv_number(sb, ",", g->kind.size_low);
	csv_number(sb, ",", g->kind.size_high);
	csv_string(sb, ",", g->kind.content);
	strbuf_printf(sb, ",\"0x%" PRIx64 "\"", g->nsamples ? g->samples[0] : 0);
	csv_string(sb, ",", summary_stack_end_name(g->stack_end));
	csv_where(sb, ",", g->stack, g->depth, g->wrappers, g->stack_end);
	csv_string(sb, ",", g->tag);
	csv_end(sb);
}

int out_scan_csv(const struct scan_report *r, struct strbuf *sb)
{
	if (scan_error(r))
		return scan_error(r);
	strbuf_puts(sb, HEAD);
	csv_end(sb);
	for (size_t i = 0; i < r->summary.ngroups; i++)
		put_group(sb, &r->summary.groups[i]);
	return strbuf_error(sb);
}
