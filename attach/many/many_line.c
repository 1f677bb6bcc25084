/* SPDX-License-Identifier: MIT */
#include "attach/many/many_line.h"

#include "attach/many/members.h"
#include "base/duration.h"
#include "base/statusline.h"
#include "base/strbuf.h"
#include "report/model/format_text.h"

struct sums {
	uint64_t events, blocks, bytes;
	size_t watched, ended;
};

static struct sums sum(const struct members *m)
{
	struct sums s = { 0 };

	for (size_t i = 0; i < m->n; i++) {
		const struct watched *w = &m->all[i];

		s.ended += !w->watcher && w->state != MEMBER_STARTING;
		if (!w->watcher || w->state != MEMBER_WATCHING)
			continue;
		s.watched++;
		s.events += atomic_load(&w->page->events);
		s.blocks += atomic_load(&w->page->blocks);
		s.bytes += atomic_load(&w->page->bytes);
	}
	return s;
}

void many_line_show(const struct members *m, double seconds, uint64_t duration_ns)
{
	const struct sums s = statusline_is_open() ? sum(m) : (struct sums){ 0 };
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	char text[DURATION_TEXT];

	if (!statusline_is_open())
		return;
	strbuf_puts(&sb, duration_format((uint64_t)seconds * 1000000000u, text, sizeof(text)));
	if (duration_ns)
		strbuf_printf(&sb, "/%s", duration_format(duration_ns, text, sizeof(text)));
	strbuf_printf(&sb, "  watching %zu", s.watched);
	if (s.ended)
		strbuf_printf(&sb, ", %zu ended", s.ended);
	strbuf_puts(&sb, "  ");
	format_count(&sb, s.blocks, "block");
	strbuf_puts(&sb, ", ");
	format_size(&sb, s.bytes);
	strbuf_puts(&sb, " live  ");
	format_count(&sb, s.events, "event");
	strbuf_puts(&sb, "  Ctrl-C ends");
	statusline_show(strbuf_str(&sb));
}

void many_line_leaving(const struct members *m)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	if (!statusline_is_open())
		return;
	strbuf_printf(&sb, "leaving: %zu processes are left", m->running);
	statusline_show(strbuf_str(&sb));
}
