/* SPDX-License-Identifier: MIT */
/*
 * top_cmd: see top_cmd.h. The view only reads a trace; it attaches to nothing.
 *
 *	every tenth of a second		a key
 *	every second (--interval)	what was appended to the trace
 *
 * Without a terminal it prints the interim reports of the trace, and its report at the end.
 */
#include "attach/top/top_cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/reporting/trace_report.h"
#include "attach/top/keys.h"
#include "attach/top/save.h"
#include "attach/top/screen.h"
#include "attach/top/top.h"
#include "attach/top/top_names.h"
#include "attach/top/watcher.h"
#include "base/clock.h"
#include "base/endsignals.h"
#include "base/log.h"
#include "report/model/format_text.h"
#include "report/tracefiles/follow.h"

#define BEGIN_NS 20000000	/* how often to look whether the watch has begun */
#define SILENCE_S 5		/* a watch writes every second; so much later it is worth a word */

#define OURS "mmattach: "
#define HINT OURS "hint: "

struct view {
	const struct options *opt;
	struct watcher watcher;
	struct follow follow;
	struct top top;
	struct top_names names;
	struct screen screen;
	double heard_s;		/* when something was appended the last time */
	bool quit;
};

/* --- what is new --- */

/* With what is not in the numbers. */
static void set_state(struct view *v, const char *text)
{
	cleanup_strbuf struct strbuf state = STRBUF_INIT;

	strbuf_puts(&state, text);
	if (v->follow.damages || v->follow.missed)
		strbuf_puts(&state, *text ? "; NOT COUNTED: " : "NOT COUNTED: ");
	if (v->follow.damages) {
		format_count(&state, v->follow.damages, "part");
		strbuf_puts(&state, " of the trace that cannot be read");
	}
	if (v->follow.missed) {
		strbuf_puts(&state, v->follow.damages ? ", " : "");
		format_count(&state, v->follow.missed, "piece");
		strbuf_puts(&state, " of it that are gone");
	}
	snprintf(v->screen.state, sizeof(v->screen.state), "%s", strbuf_str(&state));
}

/* Why the watch has ended, if it failed: the last thing that it has said, but for hints. */
static const char *last_message(char *said)
{
	const char *last = NULL;
	char *rest, *line;

	for (line = strtok_r(said, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strncmp(line, HINT, strlen(HINT)) != 0)
			last = line;
	return last && !strncmp(last, OURS, strlen(OURS)) ? last + strlen(OURS) : last;
}

static void say_ended(struct view *v)
{
	cleanup_strbuf struct strbuf said = STRBUF_INIT, state = STRBUF_INIT;
	const char *why;

	watcher_said(&v->watcher, &said);
	why = said.len ? last_message(said.s) : NULL;
	strbuf_printf(&state, "the watch has ended%s%s; this is what was seen", why ? ": " : "", why ? why : "");
	set_state(v, strbuf_str(&state));
}

static void say_silence(struct view *v)
{
	const double silent_s = clock_seconds() - v->heard_s;
	cleanup_strbuf struct strbuf state = STRBUF_INIT;

	if (silent_s >= SILENCE_S) {
		strbuf_puts(&state, "nothing new for ");
		format_seconds(&state, silent_s);
	}
	set_state(v, strbuf_str(&state));
}

static int look(struct view *v)
{
	const bool runs = v->watcher.path ? watcher_runs(&v->watcher) : follow_is_written(&v->follow);
	const uint64_t before = v->follow.facts;
	int r = follow_more(&v->follow);

	if (r < 0) {
		screen_close();
		follow_log(&v->follow, r);
		return r;
	}
	if (v->follow.facts != before)
		v->heard_s = clock_seconds();
	if (!runs && v->watcher.path)
		say_ended(v);
	else if (v->follow.ledger.ended)
		set_state(v, "the trace has ended");
	else if (!runs)
		set_state(v, "the trace has no end, and no process writes it: this is what was seen");
	else
		say_silence(v);
	return 0;
}

static int refresh_rows(struct view *v)
{
	int r = v->top.filter ? top_names_look_up(&v->names, &v->follow.ledger, NULL, 0) : 0;

	return r < 0 ? r : top_refresh(&v->top, &v->follow.ledger);
}

/* --- keys --- */

static void save(struct view *v)
{
	char *message = v->screen.message;
	int r;

	if (!*v->screen.input)
		return;
	r = save_trace(&v->follow, v->screen.input);
	if (r < 0)
		snprintf(message, sizeof(v->screen.message), "cannot save the trace: %s", strerror(-r));
	else
		snprintf(message, sizeof(v->screen.message), "saved: mmattach report %s", v->screen.input);
}

static int filter(struct view *v)
{
	char why[128];
	int r = top_filter(&v->top, v->screen.input, why, sizeof(why));

	if (r == -EINVAL) {
		snprintf(v->screen.message, sizeof(v->screen.message), "no regular expression: %s", why);
		return 0;
	}
	return r < 0 ? r : refresh_rows(v);
}

static int carry_out(struct view *v, enum key_effect effect)
{
	switch (effect) {
	case KEYS_QUIT:
		v->quit = true;
		return 0;
	case KEYS_SAVE:
		save(v);
		return 0;
	case KEYS_MARK:
		top_mark(&v->top, &v->follow.ledger);
		return refresh_rows(v);
	case KEYS_FILTER:
		return filter(v);
	default:
		return 0;
	}
}

/* --- on the terminal --- */

static int show(struct view *v)
{
	const double interval = v->opt->interval_ns ? (double)v->opt->interval_ns / 1e9 : 1;
	double next = 0;
	int key, r = 0;
	bool changed = true;

	v->heard_s = clock_seconds();
	while (r == 0 && !v->quit && !endsignals_came() && !screen_is_gone()) {
		if (!v->screen.paused && clock_seconds() >= next) {
			r = look(v);
			if (r == 0)
				r = refresh_rows(v);
			next = clock_seconds() + interval;
			changed = true;
		}
		if (r == 0 && changed)
			r = screen_draw(&v->screen, &v->top, &v->follow.ledger, &v->names);
		key = r == 0 ? screen_wait_key() : -1;
		changed = key != -1;
		if (changed)
			r = carry_out(v, keys_take(&v->screen, &v->top, key));
	}
	return r;
}

static int show_on_screen(struct view *v)
{
	int r;

	if (!screen_open()) {
		log_error("this terminal cannot show the view");
		log_hint("set TERM to its type; or print interim reports: mmattach top ... | cat");
		return -ENOTTY;
	}
	r = show(v);
	screen_close();
	return r;
}

/* --- without one --- */

static int print_reports(struct view *v)
{
	int r = trace_report_follow(v->opt, &v->follow);

	if (r < 0)
		return r;
	watcher_stop(&v->watcher);
	r = follow_more(&v->follow);
	if (r < 0) {
		follow_log(&v->follow, r);
		return r;
	}
	return trace_report_followed(v->opt, &v->follow) ? -EIO : 0;
}

/* --- both --- */

/* Until there is something to show. False: the watch has ended before; it has said why. */
static bool wait_for_watch(struct view *v)
{
	const struct timespec pause = { 0, BEGIN_NS };
	cleanup_strbuf struct strbuf said = STRBUF_INIT;

	while (!endsignals_came() && watcher_runs(&v->watcher) && !watcher_has_begun(&v->watcher))
		nanosleep(&pause, NULL);
	while (!endsignals_came() && watcher_has_begun(&v->watcher) && follow_more(&v->follow) == 0 &&
	       !v->follow.facts && watcher_runs(&v->watcher))
		nanosleep(&pause, NULL);
	if (v->follow.facts || endsignals_came())
		return true;
	watcher_said(&v->watcher, &said);
	fputs(strbuf_str(&said), stderr);
	return false;
}

static int run(struct view *v)
{
	const bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	int r;

	if (v->watcher.path && !wait_for_watch(v))
		return -ECHILD;
	if (endsignals_came())
		return 0;
	r = follow_more(&v->follow);	/* before the screen, so that an error is read */
	if (r < 0) {
		follow_log(&v->follow, r);
		return r;
	}
	if (!terminal)
		return print_reports(v);
	r = show_on_screen(v);
	if (r < 0 && r != -ENOTTY)
		log_error_errno(r, "the view has ended");
	return r;
}

int top_cmd(const struct options *opt, int argc, char **argv)
{
	struct view v = { .opt = opt, .watcher = WATCHER_INIT };
	int r = 0;

	endsignals_catch();
	top_init(&v.top);
	if (!opt->files.n)
		r = watcher_start(&v.watcher, opt, argc, argv);
	if (r == 0) {
		r = follow_open(&v.follow, opt->files.n ? opt->files.all[0] : v.watcher.path);
		if (r == 0)
			r = run(&v);
		follow_close(&v.follow);
	}
	top_names_fini(&v.names);
	top_fini(&v.top);
	watcher_end(&v.watcher);
	return r < 0;
}
