/* SPDX-License-Identifier: MIT */
#include "attach/keeper/shared/event.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static enum happening of_ptrace_event(int event, int sig)
{
	switch (event) {
	case PTRACE_EVENT_CLONE:
		return HAPPENED_CLONE;
	case PTRACE_EVENT_FORK:
		return HAPPENED_FORK;
	case PTRACE_EVENT_VFORK:
		return HAPPENED_VFORK;
	case PTRACE_EVENT_VFORK_DONE:
		return HAPPENED_VFORK_DONE;
	case PTRACE_EVENT_EXEC:
		return HAPPENED_EXEC;
	case PTRACE_EVENT_EXIT:
		return HAPPENED_ENDING;
	case PTRACE_EVENT_STOP:
		/* SIGTRAP: an interrupt, or the first stop; the stopping signal: a group stop */
		return sig == SIGTRAP ? HAPPENED_STOP : HAPPENED_GROUP_STOP;
	default:
		return HAPPENED_OTHER;
	}
}

struct happening_info event_decode(int status)
{
	int sig;

	if (WIFEXITED(status))
		return (struct happening_info){ HAPPENED_EXIT, WEXITSTATUS(status) };
	if (WIFSIGNALED(status))
		return (struct happening_info){ HAPPENED_KILLED, WTERMSIG(status) };
	if (!WIFSTOPPED(status))
		return (struct happening_info){ HAPPENED_OTHER, 0 };
	sig = WSTOPSIG(status);
	if (status >> 16)
		return (struct happening_info){ of_ptrace_event(status >> 16, sig), sig };
	return (struct happening_info){ HAPPENED_SIGNAL, sig };
}

const char *happening_name(enum happening what)
{
	static const char *const names[] = {
		[HAPPENED_SIGNAL] = "signal", [HAPPENED_GROUP_STOP] = "group stop", [HAPPENED_STOP] = "stop",
		[HAPPENED_CLONE] = "clone", [HAPPENED_FORK] = "fork", [HAPPENED_VFORK] = "vfork",
		[HAPPENED_VFORK_DONE] = "vfork done", [HAPPENED_EXEC] = "exec", [HAPPENED_EXIT] = "exit",
		[HAPPENED_KILLED] = "killed", [HAPPENED_ENDING] = "ending", [HAPPENED_OTHER] = "other",
	};

	return names[what];
}

const char *trouble_text(enum trouble t)
{
	static const char *const texts[] = {
#define X(name, text) text,
		TROUBLES(X)
#undef X
	};

	return t < TROUBLES_END ? texts[t] : "something failed";
}
