/* SPDX-License-Identifier: MIT */
#include "attach/many/members.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/many/slotted.h"
#include "attach/options/options.h"
#include "attach/watch/session.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/statusline.h"

#define NAMED 5u		/* of those that have not ended */
#define TURNS 3		/* members that look up names at once */
#define LEAST_PPM 500u	/* of a budget: option_budget.c */

int members_open(struct members *m)
{
	int r = 0;

	m->turns[0] = m->turns[1] = -1;
	member_prepare();
	m->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->bell < 0 || pipe2(m->turns, O_CLOEXEC | O_NONBLOCK) < 0 ||
	    write(m->turns[1], "abc", TURNS) != TURNS) {
		r = -errno;
		log_error_errno(r, "cannot begin");
	}
	return r;
}

static void free_watched(struct watched *w)
{
	if (w->page)
		munmap(w->page, sizeof(*w->page));
	free(w->trace);
	free(w->why);
}

void members_close(struct members *m)
{
	for (size_t i = 0; i < m->n; i++)
		free_watched(&m->all[i]);
	free(m->all);
	for (int i = 0; i < 2; i++)
		if (m->turns[i] >= 0)
			close(m->turns[i]);
	if (m->bell >= 0)
		close(m->bell);
}

/* --- starting --- */

/* A share of the budget, of those that are watched now. */
static uint32_t budget_of_one(const struct members *m)
{
	const uint32_t part = m->opt->budget_ppm / (uint32_t)(m->running + m->waiting + 1);

	return !m->opt->many.budget_shared ? m->opt->budget_ppm : part < LEAST_PPM ? LEAST_PPM : part;
}

/* What is for the whole is not for each. */
static struct options options_of(const struct members *m, const struct watched *w)
{
	struct options o = *m->opt;

	o.pid = w->process.pid;
	o.name = NULL;
	if (o.pid)
		o.program = NULL;
	o.member = true;
	o.duration_ns = 0;
	o.output = w->trace;
	o.report = NULL;
	o.error_exitcode = 0;
	if (o.budget_ppm)
		o.budget_ppm = budget_of_one(m);
	return o;
}

static void name_messages(const struct watched *w)
{
	char subject[PROCSTAT_COMM + 16];

	if (!w->process.pid)
		return;	/* the program's: it is what the user has asked for */
	snprintf(subject, sizeof(subject), "%s %d", w->process.comm, (int)w->process.pid);
	log_set_subject(subject);
	log_divert(w->page->why, sizeof(w->page->why));
}

/* Ctrl-C in the terminal is for our starter. With stty tostop, what is in the background is stopped if it prints. */
static void leave_terminal(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	setpgid(0, 0);
	sigaction(SIGTTOU, &ignore, NULL);
}

/* In the copy; the signals that end a watch are blocked. A program that we start has the terminal. */
static int run(const struct members *m, const struct watched *w)
{
	const struct options o = options_of(m, w);
	const int held = folder_hold(m->folder);
	int status = 1;

	statusline_close();
	if (w->process.pid)
		leave_terminal();
	if (!o.verbose)
		log_set_quiet();
	name_messages(w);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == w->page->starter)
		status = session_run(&o, w->page, m->argc, m->argv);
	if (getppid() != w->page->starter && w->trace)
		folder_abandon(m->folder, held, w->trace);
	return status;
}

static int make_page(const struct members *m, struct watched *w)
{
	void *p = mmap(NULL, sizeof(*w->page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	w->page = p;
	w->page->starter = getpid();
	w->page->bell = m->bell;
	w->page->mask = m->mask;
	memcpy(w->page->turns, m->turns, sizeof(m->turns));
	w->page->slots = m->slots;
	w->page->slot = slotted_find(m->slots, w->process.pid);
	w->page->inherits = w->process.inherits;
	w->page->start_ns = w->process.start_ns;
	w->page->born_ns = w->process.later ? w->process.start_ns : 0;
	return 0;
}

static int prepare(const struct members *m, struct watched *w)
{
	int r = make_page(m, w);

	if (r < 0)
		return r;
	w->trace = folder_name(m->folder, w->process.pid, w->process.comm);
	return w->trace ? 0 : -ENOMEM;
}

static int start(struct members *m, struct watched *w)
{
	int r = prepare(m, w);

	if (r < 0)
		return r;
	w->watcher = fork();
	if (w->watcher == 0)
		_exit(run(m, w));
	if (w->watcher > 0)
		return 0;
	w->watcher = 0;
	return -errno;
}

int members_start(struct members *m, const struct choice_found *process)
{
	int r = grow_for(&m->all, m->n, &m->room, sizeof(*m->all));
	struct watched *w;

	if (r < 0) {
		log_error_errno(r, "cannot watch %d", (int)process->pid);
		return r;
	}
	w = &m->all[m->n];
	*w = (struct watched){ .process = *process, .is_program = !process->pid };
	r = start(m, w);
	if (r < 0) {
		log_error_errno(r, "cannot watch %d", (int)process->pid);
		free_watched(w);
		return r;
	}
	m->n++;
	w->counted = true;
	m->attaching++;
	m->running++;
	return 0;
}

/* --- what becomes of them --- */

static void attached(struct members *m, struct watched *w)
{
	m->attaching -= w->counted;
	w->counted = false;
}

/* The program's own id and name come from the member that has started it. */
static void see_program(struct watched *w)
{
	if (!w->process.pid)
		w->process.pid = (pid_t)atomic_load(&w->page->spawned);
}

static void see_state(struct members *m, struct watched *w)
{
	const enum member_state state = atomic_load(&w->page->state);

	see_program(w);
	if (state != w->state && w->state == MEMBER_STARTING)
		attached(m, w);
	w->state = state;
	w->end = atomic_load(&w->page->end);
}

static char *reason(const struct watched *w, int status)
{
	char *text;

	if (w->asked && w->state == MEMBER_STARTING)
		return strdup("the watch of all ended before its own could begin");
	if (WIFSIGNALED(status) && asprintf(&text, "its watch was ended by signal %d", WTERMSIG(status)) >= 0)
		return text;
	if (w->state == MEMBER_STARTING)
		return strdup(*w->page->why ? w->page->why : "its watch could not begin");
	return strdup("its watch failed");
}

/*
 * A trace is named before it is written, when the number of a program that is to be started is not known
 * yet.
 */
static void name_by_pid(const struct members *m, struct watched *w)
{
	char *name = w->process.pid ? folder_name(m->folder, w->process.pid, w->process.comm) : NULL;

	if (name && rename(w->trace, name) == 0) {
		free(w->trace);
		w->trace = name;
		return;
	}
	free(name);
}

static void take_end(struct members *m, struct watched *w, int status)
{
	see_state(m, w);
	attached(m, w);
	member_give_turn(w->page);	/* of one that was killed */
	if (w->state != MEMBER_DONE)
		w->why = reason(w, status);
	if (w->is_program && w->trace)
		name_by_pid(m, w);
	munmap(w->page, sizeof(*w->page));
	w->page = NULL;
	w->watcher = 0;
	w->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	m->running--;
}

/* Its trace is whole, or it has ended without. */
static bool is_over(struct members *m, struct watched *w)
{
	int status;

	see_state(m, w);
	if (waitpid(w->watcher, &status, WNOHANG) == w->watcher)
		take_end(m, w, status);
	return !w->watcher || w->state == MEMBER_DONE;
}

void members_look(struct members *m, void (*ended)(void *ctx, struct watched *w), void *ctx)
{
	uint64_t rings;

	(void)!read(m->bell, &rings, sizeof(rings));
	for (size_t i = 0; i < m->n; i++) {
		struct watched *w = &m->all[i];

		if (!w->watcher || !is_over(m, w) || w->over)
			continue;
		w->over = true;
		ended(ctx, w);
	}
}

/* One that was stopped must run to end. */
static void ask_to_end(const struct watched *w)
{
	kill(w->watcher, SIGTERM);
	kill(w->watcher, SIGCONT);
}

bool members_end(struct members *m, size_t at_once)
{
	size_t busy = 0;
	bool all = true;

	for (size_t i = 0; i < m->n; i++)
		busy += m->all[i].watcher && m->all[i].asked && m->all[i].state != MEMBER_DONE;
	for (size_t i = 0; i < m->n; i++) {
		struct watched *w = &m->all[i];

		if (!w->watcher || w->asked)
			continue;
		if (busy >= at_once) {
			all = false;
			break;
		}
		w->asked = true;
		busy++;
		/* one that ends already is not to be hurried, but it may have been stopped */
		if (w->state <= MEMBER_WATCHING)
			ask_to_end(w);
		else
			kill(w->watcher, SIGCONT);
	}
	return all;
}

void members_hurry(struct members *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->all[i].watcher && m->all[i].state != MEMBER_DONE)
			ask_to_end(&m->all[i]);
}

void members_give_up(struct members *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->all[i].watcher && m->all[i].state != MEMBER_DONE)
			kill(m->all[i].watcher, SIGKILL);
}

void members_name_rest(const struct members *m, struct strbuf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct watched *w = &m->all[i];

		if (!w->watcher || w->state == MEMBER_DONE)
			continue;
		if (n < NAMED)
			strbuf_printf(out, "%s%s %d", n ? ", " : "", w->process.comm, (int)w->process.pid);
		n++;
	}
	if (n > NAMED)
		strbuf_printf(out, " and %zu more", n - NAMED);
}
