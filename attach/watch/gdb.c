/* SPDX-License-Identifier: MIT */
#include "attach/watch/gdb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/control/planting.h"
#include "attach/events/recorder.h"
#include "attach/events/scope.h"
#include "attach/events/tally.h"
#include "attach/keeper/procfs.h"
#include "attach/stacks/backtrace.h"
#include "attach/target/modules.h"
#include "attach/watch/attach.h"
#include "attach/watch/facts.h"
#include "attach/watch/session.h"
#include "attach/watch/session_record.h"
#include "base/duration.h"
#include "base/log.h"
#include "report/ledger/objects.h"

#define REQUEST_MAX 8192
#define ANSWER_MAX 600

/* --- answers --- */

static void send_text(const struct session *s, const char *text)
{
	/* if gdb is gone, that is noticed when the end of the socket is read */
	(void)!send(s->gdb.control, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void reply(const struct session *s, const char *text)
{
	char numbered[ANSWER_MAX];

	snprintf(numbered, sizeof(numbered), "%" PRIu32 " %s", s->gdb.request, text);
	send_text(s, numbered);
}

static void answer(struct session *s, int r)
{
	char text[128];

	if (r < 0)
		snprintf(text, sizeof(text), "error %s", strerror(-r));
	reply(s, r < 0 ? text : "ok");
}

/* --- requests --- */

static uint64_t lost(const struct session *s)
{
	const struct ledger *l = &s->recorder->ledger;
	uint64_t sum = 0;

	for (size_t i = 0; i < l->nlost; i++)
		sum += l->lost[i].count;
	return sum;
}

static uint64_t objects(const struct session *s)
{
	const struct ledger *l = &s->recorder->ledger;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < l->nbooks; i++)
		if (l->books[i].objects)
			sum += objects_count(l->books[i].objects);
	return sum;
}

static void status(struct session *s, char *arg)
{
	const struct ledger *l = &s->recorder->ledger;
	uint64_t now = link_clock_ns();
	char text[512];

	(void)arg;
	facts_progress(s->recorder, &s->watch, now);
	snprintf(text, sizeof(text),
		 "ok pid %d\nseconds %.3f\nevents %" PRIu64 "\nblocks %" PRIu64 "\nbytes %" PRIu64
		 "\nobjects %" PRIu64 "\nfunctions %zu\nlost %" PRIu64 "\nstacks_cut %" PRIu64,
		 s->at.target.pid, (now - s->watch.start_ns) / 1e9, s->tally->events, l->held_blocks,
		 l->held_bytes, objects(s), s->planting->nprobes, lost(s), s->backtrace->cut);
	reply(s, text);
}

static void save(struct session *s, char *arg)
{
	int r = session_record_save(s, arg, answer);

	if (r < 0)
		answer(s, r);
}

static void end(struct session *s, char *arg)
{
	(void)arg;
	s->watch.end = WATCH_ASKED;
}

/* The relay notices that we are gone, unless it is stopped: so it is continued. */
static void quit(struct session *s, char *arg)
{
	(void)arg;
	link_signal(&s->at.link, SIGCONT);
	_exit(0);
}

static void hand_over(struct session *s, char *arg)
{
	uint64_t since, duration = 0;
	char text[64], *rest;
	int r;

	since = strtoull(arg, &rest, 10);
	while (*rest == ' ')
		rest++;
	if (rest == arg || (*rest && duration_parse(rest, &duration))) {
		answer(s, -EINVAL);
		return;
	}
	r = attach_after_gdb(s);
	watch_add_gap(&s->watch, since, link_clock_ns(), "the target went from gdb to mmattach");
	tally_gap(s->tally);
	if (r < 0) {
		s->gdb.take_over_error = r;
		s->watch.end = WATCH_ASKED;
		return; /* gdb_end answers */
	}
	recorder_note(s->recorder, recorder_time(s->recorder, link_clock_ns()),
		      "gdb has handed the watch over to mmattach");
	s->watch.end_ns = duration ? link_clock_ns() + duration : 0;
	snprintf(text, sizeof(text), "ok watching %d", s->at.target.pid);
	reply(s, text);
}

static const struct {
	const char *word;
	void (*handler)(struct session *s, char *arg);
} requests[] = {
	{ "status", status }, { "save", save }, { "end", end }, { "quit", quit }, { "hand-over", hand_over },
};

static void on_request(struct session *s, char *text)
{
	char *word, *arg;

	s->gdb.request = strtoul(text, &word, 10);
	word += *word == ' ';
	arg = strchr(word, ' ');
	if (arg)
		*arg++ = '\0';
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (!strcmp(word, requests[i].word)) {
			requests[i].handler(s, arg ? arg : word + strlen(word));
			return;
		}
	}
	answer(s, -ENOSYS);
}

/* gdb has ended. If it was the tracer, the watch ends; otherwise it was handed over, and continues. */
static void on_end(struct session *s)
{
	close(s->gdb.control);
	s->gdb.control = -1;
	s->watch.control = -1;
	if (s->at.under_gdb)
		s->watch.end = WATCH_ASKED;
}

static void on_control(void *ctx)
{
	struct session *s = ctx;
	char text[REQUEST_MAX];
	ssize_t n = recv(s->gdb.control, text, sizeof(text) - 1, MSG_DONTWAIT);

	/* what gdb's Python reported before this request is in the ring already, and belongs to the answer */
	if (n > 0)
		watch_drain(&s->watch);
	if (n > 0) {
		text[n] = '\0';
		on_request(s, text);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		on_end(s);
	}
}

/* --- the other process --- */

static void on_moved(void *ctx, pid_t pid)
{
	struct session *s = ctx;
	int mem = procfs_open_mem(pid), r;

	recorder_note(s->recorder, recorder_time(s->recorder, link_clock_ns()),
		      "from here on it is process %d that was watched, forked by %d: gdb followed it", pid,
		      s->at.target.pid);
	s->at.target.pid = pid;
	s->tally->pid = pid;
	s->scope->pid = pid;
	/* -1: we may not read it; the first process's memory is no substitute */
	if (s->planting->mem >= 0)
		close(s->planting->mem);
	s->planting->mem = mem;
	r = modules_move(s->at.modules, pid, mem);
	if (r < 0)
		log_warn_errno(r, "cannot follow gdb to process %d", pid);
	backtrace_moved(s->backtrace, pid);
}

/* --- beginning and end --- */

void gdb_begin(struct session *s)
{
	char text[128];

	s->watch.asked = on_control;
	s->watch.moved = on_moved;
	s->watch.gdb_ctx = s;
	snprintf(text, sizeof(text), "ready %zu functions, %u threads", s->planting->nprobes,
		 s->at.target.threads);
	send_text(s, text);
}

void gdb_end(struct session *s, int r)
{
	if (s->gdb.control >= 0)
		answer(s, s->gdb.take_over_error < 0 ? s->gdb.take_over_error : r);
}
