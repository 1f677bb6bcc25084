/* SPDX-License-Identifier: MIT */
/* out_diff_json: see out_diff_json.h. */
#include "report/json/out_diff_json.h"

#include "report/json/json.h"
#include "report/json/json_stack.h"

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

static void put_change(struct strbuf *sb, const struct diff *d, const struct diff_group *g,
		       struct json_frames *frames)
{
	json_string(sb, "{", "change", diff_change_name(g->change));
	json_string(sb, ", ", "family", g->group->family);
	json_text(sb, ", ", "tag", g->group->tag);
	json_number(sb, ", ", "old_blocks", g->old_blocks);
	json_number(sb, ", ", "old_bytes", g->old_bytes);
	json_number(sb, ", ", "new_blocks", g->new_blocks);
	json_number(sb, ", ", "new_bytes", g->new_bytes);
	json_number(sb, ", ", "wrappers", g->group->stack.wrappers);
	json_stack(sb, ", ", &g->group->stack, frames);
	json_string(sb, ", ", "verdict", verdict_name(g->group->verdict));
	json_bool(sb, ", ", "verdict_mixed", g->mixed);
	json_bool(sb, ", ", "by_rate", g->rated);
	json_real(sb, ", ", "old_bytes_per_minute", diff_rate(d->old, g->old_bytes));
	json_real(sb, ", ", "new_bytes_per_minute", diff_rate(d->new, g->new_bytes));
	strbuf_putc(sb, '}');
}

static void put_ref_change(struct strbuf *sb, const struct diff_refs *d, struct json_frames *frames)
{
	const struct summary_use *u = diff_refs_use(d->refs);

	json_string(sb, "{", "change", diff_change_name(d->change));
	json_string(sb, ", ", "family", d->refs->family);
	json_number(sb, ", ", "old_objects", d->old_objects);
	json_number(sb, ", ", "new_objects", d->new_objects);
	json_number(sb, ", ", "wrappers", u->stack.wrappers);
	json_stack(sb, ", ", &u->stack, frames);
	strbuf_putc(sb, '}');
}

void json_diff(const struct diff *d, struct json_frames *frames, struct strbuf *sb)
{
	json_begin(sb);
	put_side(sb, "old", d->old);
	put_side(sb, "new", d->new);
	json_bool(sb, ",\n", "same_process", d->same_process);
	strbuf_puts(sb, ",\n\"changes\": [");
	for (size_t i = 0; i < d->ngroups; i++) {
		json_next_line(sb, i, "  ");
		put_change(sb, d, &d->groups[i], frames);
	}
	strbuf_puts(sb, "],\n\"ref_changes\": [");
	for (size_t i = 0; i < d->nrefs; i++) {
		json_next_line(sb, i, "  ");
		put_ref_change(sb, &d->refs[i], frames);
	}
	strbuf_putc(sb, ']');
}

int out_diff_json(const struct diff *d, size_t top, struct strbuf *sb)
{
	(void)top;
	if (diff_error(d))
		return diff_error(d);
	json_diff(d, NULL, sb);
	strbuf_puts(sb, "}\n");
	return strbuf_error(sb);
}
