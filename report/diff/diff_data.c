/* SPDX-License-Identifier: MIT */
/*
 * diff_data: a difference for programs, with all groups, also those that did not change:
 *
 *	{ "mmattach": {version, schema},
 *	  "old", "new": {pid, comm, start, seconds, live_blocks, live_bytes},
 *	  "changes": [{change, family, tag, old_blocks, old_bytes, new_blocks, new_bytes, wrappers, stack_end, stack,
 *		       verdict, verdict_mixed, by_rate, old_bytes_per_minute, new_bytes_per_minute}],
 *	  "ref_changes": [{change, family, old_objects, new_objects, wrappers, stack_end, stack}] }
 *
 * The JSON's stacks are as in out_json.h; of objects it is that of the most suspect place. The CSV has the same
 * numbers, with objects in the columns of blocks; folded stacks have bytes, or objects, before and now.
 */
#include "report/diff/diff.h"

#include <errno.h>

#include "report/csv/csv.h"
#include "report/folded/folded.h"
#include "report/json/json.h"

static int error_of(const struct diff *d)
{
	return summary_error(d->old) || summary_error(d->new) ? -ENOMEM : 0;
}

static void put_side(struct strbuf *sb, const char *name, const struct summary *s)
{
	json_key(sb, ",\n", name);
	json_number(sb, "{", "pid", (uint64_t)s->target.pid);
	json_string(sb, ", ", "comm", s->target.comm);
	json_start(sb, ", ", s->run.start_ns);
	json_real(sb, ", ", "seconds", s->run.seconds);
	json_number(sb, ", ", "live_blocks", s->totals.live_blocks);
	json_number(sb, ", ", "live_bytes", s->totals.live_bytes);
	strbuf_putc(sb, '}');
}

static void put_change(struct strbuf *sb, const struct diff *d, const struct diff_group *g)
{
	json_string(sb, "{", "change", diff_change_name(g->change));
	json_string(sb, ", ", "family", g->group->family);
	json_text(sb, ", ", "tag", g->group->tag);
	json_number(sb, ", ", "old_blocks", g->old_blocks);
	json_number(sb, ", ", "old_bytes", g->old_bytes);
	json_number(sb, ", ", "new_blocks", g->new_blocks);
	json_number(sb, ", ", "new_bytes", g->new_bytes);
	json_number(sb, ", ", "wrappers", g->group->wrappers);
	json_stack(sb, ", ", g->group->stack, g->group->depth, g->group->stack_end);
	json_string(sb, ", ", "verdict", verdict_name(g->group->verdict));
	json_bool(sb, ", ", "verdict_mixed", g->mixed);
	json_bool(sb, ", ", "by_rate", g->rated);
	json_real(sb, ", ", "old_bytes_per_minute", diff_rate(d->old, g->old_bytes));
	json_real(sb, ", ", "new_bytes_per_minute", diff_rate(d->new, g->new_bytes));
	strbuf_putc(sb, '}');
}

static const struct summary_use *where(const struct summary_refs *r)
{
	static const struct summary_use none;

	return r->ntaken ? r->taken : r->ndropped ? r->dropped : &none;
}

static void put_ref_change(struct strbuf *sb, const struct diff_refs *d)
{
	const struct summary_use *u = where(d->refs);

	json_string(sb, "{", "change", diff_change_name(d->change));
	json_string(sb, ", ", "family", d->refs->family);
	json_number(sb, ", ", "old_objects", d->old_objects);
	json_number(sb, ", ", "new_objects", d->new_objects);
	json_number(sb, ", ", "wrappers", u->wrappers);
	json_stack(sb, ", ", u->frames, u->depth, u->end);
	strbuf_putc(sb, '}');
}

int diff_json(const struct diff *d, struct strbuf *sb)
{
	if (error_of(d))
		return error_of(d);
	json_begin(sb);
	put_side(sb, "old", d->old);
	put_side(sb, "new", d->new);
	strbuf_puts(sb, ",\n\"changes\": [");
	for (size_t i = 0; i < d->ngroups; i++) {
		json_next_line(sb, i, "  ");
		put_change(sb, d, &d->groups[i]);
	}
	strbuf_puts(sb, "],\n\"ref_changes\": [");
	for (size_t i = 0; i < d->nrefs; i++) {
		json_next_line(sb, i, "  ");
		put_ref_change(sb, &d->refs[i]);
	}
	strbuf_puts(sb, "]}\n");
	return strbuf_error(sb);
}

static void put_csv_of_refs(struct strbuf *sb, const struct diff_refs *d)
{
	const struct summary_use *u = where(d->refs);

	csv_string(sb, "", diff_change_name(d->change));
	csv_string(sb, ",", d->refs->family);
	csv_number(sb, ",", d->old_objects);
	strbuf_puts(sb, ",0");
	csv_number(sb, ",", d->new_objects);
	strbuf_puts(sb, ",0");
	csv_where(sb, ",", u->frames, u->depth, u->wrappers, u->end);
	csv_string(sb, ",", NULL);
	csv_end(sb);
}

int diff_csv(const struct diff *d, struct strbuf *sb)
{
	if (error_of(d))
		return error_of(d);
	strbuf_puts(sb, "change,family,old_blocks,old_bytes,new_blocks,new_bytes," CSV_WHERE ",tag");
	csv_end(sb);
	for (size_t i = 0; i < d->ngroups; i++) {
		const struct diff_group *g = &d->groups[i];

		csv_string(sb, "", diff_change_name(g->change));
		csv_string(sb, ",", g->group->family);
		csv_number(sb, ",", g->old_blocks);
		csv_number(sb, ",", g->old_bytes);
		csv_number(sb, ",", g->new_blocks);
		csv_number(sb, ",", g->new_bytes);
		csv_where(sb, ",", g->group->stack, g->group->depth, g->group->wrappers, g->group->stack_end);
		csv_string(sb, ",", g->group->tag);
		csv_end(sb);
	}
	for (size_t i = 0; i < d->nrefs; i++)
		put_csv_of_refs(sb, &d->refs[i]);
	return strbuf_error(sb);
}

static void fold_refs(struct folded *f, const struct diff_refs *d)
{
	const struct summary_use *u = where(d->refs);

	folded_add(f, &(struct summary_group){ .family = d->refs->family, .stack = (struct summary_frame *)u->frames,
					       .depth = u->depth, .wrappers = u->wrappers, .stack_end = u->end },
		   d->old_objects, d->new_objects);
}

int diff_folded(const struct diff *d, struct strbuf *sb)
{
	struct folded f;
	int r;

	if (error_of(d))
		return error_of(d);
	folded_init(&f, folded_families(d->old) || folded_families(d->new));
	for (size_t i = 0; i < d->ngroups; i++)
		folded_add(&f, d->groups[i].group, d->groups[i].old_bytes, d->groups[i].new_bytes);
	for (size_t i = 0; i < d->nrefs; i++)
		fold_refs(&f, &d->refs[i]);
	r = folded_put(&f, 2, sb);
	folded_fini(&f);
	return r;
}
