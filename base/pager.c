/* SPDX-License-Identifier: MIT */
/* pager: see pager.h. The pager has only a pipe from us, and the terminal: no other descriptor of ours. */
#include "base/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/terminal.h"

#define NOT_STARTED 127		/* as a shell says it */

/* What we change for as long as the pager runs. */
struct before {
	struct sigaction interrupt, quit, pipe;
	struct termios mode;
	bool has_mode;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* A command for the shell; NULL: no pager is wanted. */
static const char *chosen(void)
{
	const char *command = getenv("MMATTACH_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = "less";
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

static void prepare(struct before *b)
{
	const struct sigaction catch = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	interrupted = 0;
	b->has_mode = tcgetattr(STDOUT_FILENO, &b->mode) == 0;
	sigaction(SIGINT, &catch, &b->interrupt);
	sigaction(SIGQUIT, &catch, &b->quit);
	sigaction(SIGPIPE, &ignore, &b->pipe);
}

static void restore(const struct before *b, bool failed)
{
	/* a pager that was killed has left the terminal as it needed it */
	if (failed && b->has_mode && terminal_is_ours(STDOUT_FILENO))
		tcsetattr(STDOUT_FILENO, TCSANOW, &b->mode);
	sigaction(SIGPIPE, &b->pipe, NULL);
	sigaction(SIGQUIT, &b->quit, NULL);
	sigaction(SIGINT, &b->interrupt, NULL);
}

/* The signals that a watch, or a command for files, has set to be ignored. */
static void give_back_signals(const struct before *b)
{
	sigaction(SIGINT, &b->interrupt, NULL);
	sigaction(SIGQUIT, &b->quit, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
}

_Noreturn static void run(const char *command, int text, pid_t parent, const struct before *b)
{
	/* a pager whose mmattach was killed must not fight with the shell for the terminal */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || dup2(text, STDIN_FILENO) < 0)
		_exit(NOT_STARTED);
	closefrom(STDERR_FILENO + 1);
	give_back_signals(b);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	/* that there is no less is no error: the shell would say that it is one */
	if (!strcmp(command, "less"))
		execlp(command, command, NULL);
	else
		execl("/bin/sh", "sh", "-c", command, NULL);
	_exit(NOT_STARTED);
}

static pid_t start(const char *command, const struct before *b, int *out)
{
	const pid_t self = getpid();
	int text[2];
	pid_t pid;

	if (pipe2(text, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		run(command, text[0], self, b);
	close(text[0]);
	if (pid < 0)
		close(text[1]);
	*out = text[1];
	return pid;
}

static bool ended_well(pid_t pid)
{
	int status;
	pid_t r;

	do
		r = waitpid(pid, &status, 0);
	while (r < 0 && errno == EINTR);
	return r == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A pager that fails because its user has interrupted it has shown what was to be shown. */
static bool show(const char *command, const struct before *b, const char *text, size_t n)
{
	int out;
	const pid_t pid = start(command, b, &out);

	if (pid < 0)
		return false;
	/* EPIPE: the user has read enough, or the pager has failed: its status tells */
	(void)!write_full(out, text, n);
	close(out);
	return ended_well(pid) || interrupted;
}

bool pager_show(const char *text, size_t n)
{
	const char *command = chosen();
	struct before b;
	bool shown;

	if (!command || !terminal_is_capable(STDOUT_FILENO) || !terminal_is_ours(STDOUT_FILENO))
		return false;
	prepare(&b);
	shown = show(command, &b, text, n);
	restore(&b, !shown);
	return shown;
}
