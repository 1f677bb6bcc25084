/* SPDX-License-Identifier: MIT */
#include "attach/target/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/target/openfiles.h"

_Noreturn static void child(char **argv, pid_t tracer, const struct spawn_before *before, int go, int failed)
{
	char byte;
	int err;

	/* without yama it fails with EINVAL, and is not needed */
	prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
	if (read(go, &byte, 1) != 1)
		_exit(127); /* cancelled, or the controller is gone */
	sigaction(SIGPIPE, &before->pipe, NULL);
	sigaction(SIGXFSZ, &before->xfsz, NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
	openfiles_restore(&before->files);
	execvp(argv[0], argv);
	err = errno;
	(void)!write(failed, &err, sizeof(err));
	_exit(127);
}

int spawn_start(struct spawn *s, char **argv, pid_t tracer, const struct spawn_before *before)
{
	int go[2], failed[2];

	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(failed, O_CLOEXEC) < 0) {
		int r = -errno;

		close(go[0]);
		close(go[1]);
		return r;
	}
	s->pid = fork();
	if (s->pid == 0) {
		close(go[1]);
		close(failed[0]);
		child(argv, tracer, before, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	s->go = go[1];
	s->failed = failed[0];
	if (s->pid < 0) {
		int r = -errno;

		close(s->go);
		close(s->failed);
		return r;
	}
	return 0;
}

int spawn_go(struct spawn *s)
{
	int r = write(s->go, "", 1) == 1 ? 0 : -errno;

	close(s->go);
	s->go = -1;
	return r;
}

int spawn_exec_error(struct spawn *s)
{
	int err = 0;

	if (s->failed >= 0 && read(s->failed, &err, sizeof(err)) != sizeof(err))
		err = 0;
	if (s->failed >= 0)
		close(s->failed);
	s->failed = -1;
	return err;
}

void spawn_cancel(struct spawn *s)
{
	if (s->go >= 0)
		close(s->go);
	s->go = -1;
	spawn_exec_error(s);
	waitpid(s->pid, NULL, 0);
}

bool spawn_runs(const struct spawn *s)
{
	siginfo_t si = { 0 };

	return waitid(P_PID, (id_t)s->pid, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && !si.si_pid;
}

static void interrupt_wait(int sig)
{
	(void)sig;
}

int spawn_wait(struct spawn *s)
{
	const struct sigaction sa = { .sa_handler = interrupt_wait };
	int status;
	sigset_t end;

	spawn_exec_error(s);
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigprocmask(SIG_UNBLOCK, &end, NULL);
	if (waitpid(s->pid, &status, 0) != s->pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
