/* SPDX-License-Identifier: MIT */
#include "attach/watch/interim.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/statusline.h"

#define WAIT_MS 20
#define LAST_MS 10000	/* for the last report */
#define NICE 10		/* a report can wait, the target cannot */

void interim_begin(struct interim *i, uint64_t now_ns)
{
	i->next_ns = now_ns + i->interval_ns;
}

/* Has the copy ended? */
static bool is_free(struct interim *i)
{
	int status;
	pid_t r;

	if (!i->child)
		return true;
	do
		r = waitpid(i->child, &status, WNOHANG);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return false;
	i->child = 0;
	if (r > 0 && WIFSIGNALED(status))
		log_warn("the %s was ended by signal %d", i->name, WTERMSIG(status));
	else if (r > 0 && WEXITSTATUS(status))
		log_warn("the %s could not be made", i->name);
	return true;
}

static void run_copy(const struct interim *i)
{
	int status;

	statusline_close();
	prctl(PR_SET_NAME, "mm-report");
	/* if we are killed, no report is wanted */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != i->watcher)
		_exit(1);
	(void)!nice(NICE);
	status = i->report(i->ctx, i->round);
	/* not exit: what we have buffered and registered is the parent's */
	_exit(status);
}

static void send_copy(struct interim *i)
{
	pid_t pid;

	i->watcher = getpid();
	pid = fork();
	if (pid == 0)
		run_copy(i);
	if (pid < 0)
		log_warn_errno(-errno, "no %s", i->name);
	else
		i->child = pid;
}

void interim_ask(struct interim *i)
{
	i->asked = true;
}

bool interim_due(const struct interim *i, uint64_t now_ns)
{
	return i->asked || (i->interval_ns && now_ns >= i->next_ns);
}

bool interim_ready(struct interim *i)
{
	return is_free(i);
}

void interim_tick(struct interim *i, uint64_t now_ns)
{
	if (!interim_due(i, now_ns))
		return;
	i->round++;
	i->asked = false;
	while (i->interval_ns && i->next_ns <= now_ns)
		i->next_ns += i->interval_ns;
	if (is_free(i))
		send_copy(i);
	else if (!i->silent)
		log_warn("%s %u is left out: the one before is not finished yet", i->name, i->round);
}

void interim_end(struct interim *i, int stop)
{
	struct pollfd p = { .fd = stop, .events = POLLIN };

	for (int waited = 0; !is_free(i); waited += WAIT_MS) {
		if (waited < LAST_MS && poll(&p, 1, WAIT_MS) <= 0)
			continue;
		log_warn("the last %s was not finished", i->name);
		kill(i->child, SIGKILL);
		waitpid(i->child, NULL, 0);
		i->child = 0;
	}
}
