/* SPDX-License-Identifier: MIT */
/* progress: see progress.h. */
#include "report/tracefiles/progress.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"

#define EVERY_NS 200000000u
#define CALLS_PER_LOOK 4096	/* the clock is read in one of so many calls */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_due(struct progress *p)
{
	uint64_t now;

	if (!p->on || p->calls++ % CALLS_PER_LOOK)
		return false;
	now = now_ns();
	if (!p->last_ns)
		p->last_ns = now; /* a file that is read quickly needs no line */
	if (now - p->last_ns < EVERY_NS)
		return false;
	p->last_ns = now;
	return true;
}

static void print(const struct strbuf *sb)
{
	ssize_t n = write(STDERR_FILENO, strbuf_str(sb), sb->len);

	(void)n; /* only a progress line: an error does not matter */
}

void progress_reading(struct progress *p, const char *name, uint64_t at, uint64_t size, uint64_t events)
{
	struct strbuf sb = STRBUF_INIT;

	if (!is_due(p))
		return;
	strbuf_puts(&sb, "\rreading ");
	strbuf_text(&sb, name);
	strbuf_puts(&sb, ": ");
	if (size)
		strbuf_printf(&sb, "%.0f %%, ", at < size ? 100. * (double)at / (double)size : 100.);
	if (events < 1000000)
		strbuf_printf(&sb, "%" PRIu64 " events\033[K", events);
	else
		strbuf_printf(&sb, "%.1f million events\033[K", (double)events / 1e6);
	print(&sb);
	p->shown = true;
	strbuf_fini(&sb);
}

void progress_clear(struct progress *p)
{
	struct strbuf sb = STRBUF_INIT;

	if (!p->shown)
		return;
	strbuf_puts(&sb, "\r\033[K");
	print(&sb);
	p->shown = false;
	strbuf_fini(&sb);
}
