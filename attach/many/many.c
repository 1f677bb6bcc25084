/* SPDX-License-Identifier: MIT */
#include "attach/many/many.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "attach/many/choice.h"
#include "attach/many/folder.h"
#include "attach/many/many_line.h"
#include "attach/many/many_report.h"
#include "attach/many/members.h"
#include "attach/many/named.h"
#include "attach/many/slotted.h"
#include "attach/options/options.h"
#include "attach/target/openfiles.h"
#include "attach/watch/session.h"
#include "attach/watch/watch.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/statusline.h"

#define LOOK_S 0.1
#define FIT_S 1.0	/* how often the memory for slots is looked at */
#define LEAST_AGE_NS 200000000u	/* most new processes of a shell, or a build, live for less */
#define ATTACHING 4		/* at once: each pauses its process for a moment */
#define LEAVING 6		/* at once, if the memory of each is copied then */
#define RETRIES 2		/* of a process that execs while it is attached to */
#define YOUNG_NS 5000000000u
#define PRESSED_S 2.0		/* a key may be held down, or a supervisor send several signals at once */
#define PATIENCE_S 60.0		/* then those that have not ended are named */

struct many {
	const struct options *opt;
	struct named named;
	struct folder folder;
	struct choice choice;
	struct members members;
	struct many_report report;
	/* chosen, and waiting to be attached to; those before `next` are not any more */
	struct choice_found *queue;
	size_t next, queued, room;
	int signals;
	bool announced;
	bool ends;		/* no further process is watched */
	double hurried;		/* when those that end were asked to be quick; 0: not yet */
	double began;		/* clock_seconds(): when all of the first look were attached to */
	double next_look, next_fit;
	int error;
};

static uint64_t now_boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- opening --- */

static int open_signals(struct many *m)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &m->members.mask);
	sigaction(SIGXFSZ, &ignore, NULL);
	m->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (m->signals >= 0)
		return 0;
	r = -errno;
	log_error_errno(r, "cannot wait for signals");
	return r;
}

static struct choice_wish wish_of(const struct many *m)
{
	const struct options *o = m->opt;

	return (struct choice_wish){
		.pids = m->named.pids, .npids = m->named.n, .name = o->many.all ? o->name : NULL,
		.cgroup = { .path = o->many.cgroup ? cgroup_path(o->many.cgroup) : NULL, .unit = o->many.unit,
			    .container = o->many.container },
		.descend = o->many.tree, .follow = o->follow, .self = getpid(), .least_age_ns = LEAST_AGE_NS,
	};
}

static int open_all(struct many *m, int argc, char **argv)
{
	struct choice_wish wish;
	int r = open_signals(m);

	if (r == 0)
		r = many_report_open(&m->report, m->opt);
	if (r == 0)
		r = named_find(&m->named, m->opt);
	if (r < 0)
		return r;
	wish = wish_of(m);
	m->members.opt = m->opt;
	m->members.argc = argc;
	m->members.argv = argv;
	m->members.folder = &m->folder;
	r = members_open(&m->members);
	if (r < 0)
		return r;
	if (m->opt->follow && session_uses_slots(m->opt))
		m->members.slots = slotted_open(m->members.bell);
	r = choice_open(&m->choice, "/proc", &wish);
	if (r < 0)
		log_error_errno(r, "cannot read /proc");
	return r;
}

static void close_all(struct many *m)
{
	choice_close(&m->choice);
	slotted_close(m->members.slots);
	members_close(&m->members);
	folder_close(&m->folder);
	many_report_close(&m->report);
	free(m->queue);
	named_fini(&m->named);
	if (m->signals >= 0)
		close(m->signals);
}

/* --- which processes --- */

static int enqueue(struct many *m)
{
	int r = 0;

	for (size_t i = 0; i < m->choice.nfound && r == 0; i++) {
		r = grow_for(&m->queue, m->queued, &m->room, sizeof(*m->queue));
		if (r < 0)
			break;
		(void)slotted_claim(m->members.slots, m->choice.found[i].pid);
		m->queue[m->queued++] = m->choice.found[i];
	}
	return r;
}

static bool is_needed(void *ctx, pid_t pid)
{
	const struct many *m = ctx;

	for (size_t i = m->next; i < m->queued; i++)
		if (m->queue[i].pid == pid)
			return true;
	for (size_t i = 0; i < m->members.n; i++)
		if (m->members.all[i].watcher && m->members.all[i].process.pid == pid)
			return true;
	return false;
}

/* A copy that no look has chosen yet. */
static int enqueue_copy(struct many *m, pid_t pid)
{
	struct choice_found p = { .pid = pid, .later = true };
	struct procstat st;
	int r;

	if (procstat_read(m->choice.proc, pid, &st) < 0 || !slotted_claim(m->members.slots, pid))
		return 0;	/* it has ended */
	p.start_ns = st.start_ns;
	memcpy(p.comm, st.comm, sizeof(p.comm));
	r = choice_adopt(&m->choice, pid);
	if (r == 0)
		r = grow_for(&m->queue, m->queued, &m->room, sizeof(*m->queue));
	if (r == 0)
		m->queue[m->queued++] = p;
	return r;
}

static int look_at_copies(struct many *m)
{
	const uint64_t now_ns = clock_ns();
	uint32_t i = 0;
	pid_t pid;
	int r = 0;

	while (r == 0 && (pid = slotted_due(m->members.slots, &i, now_ns)))
		r = enqueue_copy(m, pid);
	return r;
}

static int look(struct many *m)
{
	int r = choice_look(&m->choice, now_boot_ns());

	if (r == 0)
		r = enqueue(m);
	if (r < 0)
		log_error_errno(r, "cannot look for processes");
	return r;
}

/* What the user has named by its number, and the first look has not chosen. */
static int note_unchosen(struct many *m)
{
	int r = 0;

	for (size_t i = 0; i < m->named.n && r == 0; i++) {
		struct procstat st = { 0 };
		bool chosen = false;

		for (size_t k = 0; k < m->choice.nfound; k++)
			chosen |= m->choice.found[k].pid == m->named.pids[i];
		if (!chosen)
			r = many_report_refused(&m->report, m->named.pids[i], st.comm,
						named_why_not(m->choice.proc, m->named.pids[i], &st));
	}
	return r;
}

static int look_first(struct many *m)
{
	int r = look(m);

	return r < 0 ? r : note_unchosen(m);
}

static bool is_there(const struct many *m, const struct choice_found *p)
{
	struct procstat st;

	return procstat_read(m->choice.proc, p->pid, &st) == 0 && st.start_ns == p->start_ns &&
	       st.state != 'Z' && st.state != 'X';
}

/* Those that have ended while they waited for their turn are not attached to. */
static int start_some(struct many *m)
{
	int r = 0;

	while (r == 0 && m->next < m->queued && m->members.attaching < ATTACHING) {
		const struct choice_found *p = &m->queue[m->next++];

		m->members.waiting = m->queued - m->next;
		if (is_there(m, p))
			r = members_start(&m->members, p);
		else
			m->choice.brief++;
	}
	if (m->next == m->queued)
		m->next = m->queued = 0;
	return r;
}

/* A young one may have begun another program while it was attached to. */
static bool is_worth_a_retry(const struct many *m, const struct watched *w)
{
	size_t before = 0;

	if (now_boot_ns() - w->process.start_ns > YOUNG_NS)
		return false;
	for (size_t i = 0; i < m->members.n; i++)
		before += m->members.all[i].process.pid == w->process.pid &&
			  m->members.all[i].process.start_ns == w->process.start_ns;
	return before <= RETRIES;
}

/* It was never watched. */
static void take_refusal(struct many *m, struct watched *w)
{
	const bool there = is_there(m, &w->process);

	if (!there && w->process.later) {
		m->choice.brief++;
	} else if (there && m->opt->follow && is_worth_a_retry(m, w)) {
		choice_again(&m->choice, w->process.pid, false);
	} else if (!m->ends) {
		log_verbose("%s %d: %s", w->process.comm, (int)w->process.pid, w->why);
		if (many_report_refused(&m->report, w->process.pid, w->process.comm, w->why) < 0)
			m->error = -ENOMEM;
	}
}

static void take_end(void *ctx, struct watched *w)
{
	struct many *m = ctx;

	if (w->state == MEMBER_STARTING) {
		if (w->is_program)
			m->ends = true;
		else
			take_refusal(m, w);
		return;
	}
	if (w->why && !w->asked)
		log_warn("%s %d: %s", w->process.comm, (int)w->process.pid, w->why);
	if (w->end == WATCH_EXEC && m->opt->follow)
		choice_again(&m->choice, w->process.pid, true);
}

/* The program that a member has started: its descendants are followed. */
static int adopt_program(struct many *m)
{
	for (size_t i = 0; i < m->members.n; i++) {
		struct watched *w = &m->members.all[i];

		if (!w->is_program || w->adopted || !w->process.pid)
			continue;
		w->adopted = true;
		return choice_adopt(&m->choice, w->process.pid);
	}
	return 0;
}

/* --- the watch --- */

/* Can another one still appear? Of a name or cgroup, always; descendants have a parent that is watched. */
static bool may_come(const struct many *m)
{
	return m->opt->follow && !m->opt->program && !m->choice.wish.npids;
}

static void announce(struct many *m)
{
	if (m->announced || m->next < m->queued || m->members.attaching ||
	    !(m->members.running || may_come(m)))
		return;
	m->announced = true;
	m->began = clock_seconds();
	log_announce("watching %zu process%s%s", m->members.running, m->members.running == 1 ? "" : "es",
		     m->opt->follow ? ", and those that they start" : "");
}

static void hurry(struct many *m)
{
	m->hurried = clock_seconds();
	members_hurry(&m->members);
}

static void on_signals(struct many *m)
{
	struct signalfd_siginfo si;

	while (read(m->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			continue;
		if (si.ssi_signo == SIGUSR1)
			log_warn("SIGUSR1: several processes have no interim report");
		else if (!m->ends)
			m->ends = true;
		else if (m->hurried == 0)
			hurry(m);
		else if (clock_seconds() - m->hurried >= PRESSED_S)
			members_give_up(&m->members);
	}
}

static void wait_for_news(struct many *m, int timeout_ms)
{
	struct pollfd p[2] = {
		{ .fd = m->signals, .events = POLLIN }, { .fd = m->members.bell, .events = POLLIN },
	};

	if (poll(p, 2, timeout_ms) > 0 && p[0].revents)
		on_signals(m);
	members_look(&m->members, take_end, m);
}

static bool is_over(const struct many *m)
{
	if (m->opt->duration_ns && m->announced &&
	    clock_seconds() - m->began >= (double)m->opt->duration_ns / 1e9)
		return true;
	return !m->members.running && m->next == m->queued && !may_come(m);
}

/* A look of --follow, when it is due. */
static int follow(struct many *m)
{
	const double now = clock_seconds();
	int r = adopt_program(m);

	if (r == 0)
		r = look_at_copies(m);
	if (r < 0 || !m->opt->follow || now < m->next_look)
		return r;
	if (now >= m->next_fit) {
		slotted_fit(m->members.slots);
		m->next_fit = now + FIT_S;
	}
	slotted_sweep(m->members.slots, is_needed, m);
	m->next_look = now + LOOK_S;
	return look(m);
}

static int watch_all(struct many *m)
{
	const int timeout_ms = m->opt->follow ? (int)(LOOK_S * 1000) : 250;
	int r = 0;

	while (r == 0 && !m->ends && m->error == 0) {
		r = follow(m);
		if (r == 0)
			r = start_some(m);
		announce(m);
		if (m->announced)
			many_line_show(&m->members, clock_seconds() - m->began, m->opt->duration_ns);
		if (is_over(m))
			m->ends = true;
		else
			wait_for_news(m, slotted_due_ms(m->members.slots, clock_ns(), timeout_ms));
	}
	statusline_erase();
	m->ends = true;
	return r < 0 ? r : m->error;
}

/* The program may go on after its watch: nothing of ours is left in it. */
static bool all_done(const struct many *m)
{
	for (size_t i = 0; i < m->members.n; i++)
		if (m->members.all[i].watcher && m->members.all[i].state != MEMBER_DONE)
			return false;
	return true;
}

static void name_rest(const struct many *m)
{
	cleanup_strbuf struct strbuf rest = STRBUF_INIT;

	members_name_rest(&m->members, &rest);
	log_warn("not ended yet: %s", strbuf_str(&rest));
	if (m->hurried == 0)
		log_hint("another Ctrl-C or SIGTERM: without looking up names");
	else
		log_hint("another Ctrl-C or SIGTERM: the report has what they have written");
}

/*
 * With verdicts each process is stopped once, and its memory is copied: not of all at once. Those that wait
 * for that are watched meanwhile.
 */
static void end_all(struct many *m)
{
	const size_t at_once = m->opt->verdicts == VERDICTS_NO ? SIZE_MAX : LEAVING;
	double named = clock_seconds();

	while (!members_end(&m->members, at_once) || !all_done(m)) {
		many_line_leaving(&m->members);
		wait_for_news(m, 250);
		if (clock_seconds() - named < PATIENCE_S)
			continue;
		named = clock_seconds();
		name_rest(m);
	}
	statusline_erase();
}

/* --- from beginning to end --- */

static int start_program(struct many *m)
{
	const char *slash = strrchr(m->opt->program[0], '/');
	struct choice_found program = { 0 };

	strncpy(program.comm, slash ? slash + 1 : m->opt->program[0], sizeof(program.comm) - 1);
	return members_start(&m->members, &program);
}

/* The program's own exit status, when it has ended. */
static int program_status(struct many *m, int status)
{
	while (m->members.running)
		wait_for_news(m, 1000);
	for (size_t i = 0; i < m->members.n; i++)
		if (m->members.all[i].is_program && status == 0)
			return m->members.all[i].status;
	return status;
}

static bool any_watched(const struct many *m)
{
	for (size_t i = 0; i < m->members.n; i++)
		if (m->members.all[i].state != MEMBER_STARTING)
			return true;
	return false;
}

/*
 * How many had ended before they were attached to, at least: what looks have seen, or what keepers have; some are
 * in both.
 */
static uint64_t brief(const struct many *m)
{
	const uint64_t missed = m->members.slots ? atomic_load(&m->members.slots->missed) : 0;

	return m->choice.brief > missed ? m->choice.brief : missed;
}

static int report(struct many *m)
{
	if (!any_watched(m) && !m->opt->program)
		return many_report_none(&m->report, brief(m));
	if (!any_watched(m))
		return 1;	/* logged */
	return many_report_print(&m->report, &m->members, &m->folder, brief(m));
}

/* Late: nothing removes an empty one if we are killed before the first watch. */
static int open_folder(struct many *m)
{
	const char *output = m->opt->output && folder_is_meant(m->opt->output) ? m->opt->output : NULL;

	if (m->opt->output && !output)
		return many_report_check_output(m->opt->output) < 0 ? -EINVAL : folder_open(&m->folder, NULL);
	return folder_open(&m->folder, output);
}

/* Chosen, but the watch has ended before. */
static int note_waiting(struct many *m)
{
	int r = 0;

	for (; m->next < m->queued && r == 0; m->next++)
		r = many_report_refused(&m->report, m->queue[m->next].pid, m->queue[m->next].comm,
					"the watch ended before it was attached to");
	return r;
}

static int run(struct many *m)
{
	int r = m->opt->program ? 0 : look_first(m), status;

	if (r == 0)
		r = open_folder(m);
	if (r == 0 && m->opt->program)
		r = start_program(m);
	if (r == 0)
		r = watch_all(m);
	if (r == 0)
		r = note_waiting(m);
	end_all(m);
	status = r < 0 ? 1 : report(m);
	return m->opt->program ? program_status(m, status) : status;
}

int many_run(const struct options *opt, int argc, char **argv)
{
	struct many m = {
		.opt = opt, .signals = -1, .choice.proc = -1, .members.bell = -1, .members.turns = { -1, -1 },
	};
	int status = 1;

	openfiles_raise(NULL);
	if (open_all(&m, argc, argv) == 0)
		status = run(&m);
	close_all(&m);
	return status;
}
