/* SPDX-License-Identifier: MIT */
#include "attach/top/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/log.h"
#include "trace/rotate_names.h"

#define ADDED 9			/* words that are added to the command line, at most */
#define MESSAGES_MAX 65536
#define NAMELESS_MAX ((rlim_t)4 << 30)	/* bytes of a trace without a name */
#define NAMELESS_LEAST ((rlim_t)1 << 30)	/* a lower limit would also be one for memory that is shared */

/* --- its command line --- */

struct words {
	char **all;
	int n;
};

static void add(struct words *w, const char *word)
{
	w->all[w->n++] = (char *)word;
}

/* The words of top's own command line, but for those that are for the view alone. */
static void add_given(struct words *w, const struct options *opt, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (argv[i] == opt->help_topic)
			add(w, "watch");
		else if (i && !strcmp(argv[i], "--interval"))
			i++;
		else if (!i || strncmp(argv[i], "--interval=", strlen("--interval=")))
			add(w, argv[i]);
	}
}

/* A report that is not read needs no verdicts, for which the process would be stopped. */
static int make_words(struct words *w, const struct options *opt, int argc, char **argv, const char *trace)
{
	w->all = calloc((size_t)argc + ADDED + 1, sizeof(*w->all));
	if (!w->all)
		return -ENOMEM;
	add_given(w, opt, argc, argv);
	add(w, "--quiet");
	add(w, "--report");
	add(w, "/dev/null");
	if (opt->output)
		return 0;
	add(w, "--output");
	add(w, trace);
	add(w, "--on-trace-error=end");
	if (opt->verdicts == VERDICTS_AUTO && !opt->max_pause_ns)
		add(w, "--verdicts=no");
	return 0;
}

/* --- files --- */

static int make_nameless(struct watcher *w, int *write_end)
{
	const char *folder = getenv("TMPDIR");
	cleanup_free char *name = NULL, *again = NULL;

	if (asprintf(&name, "%s/mmattach-top-XXXXXX", folder && *folder ? folder : "/tmp") < 0) {
		name = NULL;
		return -ENOMEM;
	}
	*write_end = mkostemp(name, O_CLOEXEC);
	if (*write_end < 0)
		return -errno;
	unlink(name);
	if (asprintf(&again, "/proc/self/fd/%d", *write_end) < 0) {
		again = NULL;
		return -ENOMEM;
	}
	w->trace = open(again, O_RDONLY | O_CLOEXEC);
	if (w->trace < 0)
		return -errno;
	return asprintf(&w->path, "/proc/self/fd/%d", w->trace) < 0 ? -ENOMEM : 0;
}

static int use_named(struct watcher *w, const struct options *opt)
{
	int r = 0;

	if (opt->trace.rotate_bytes)
		r = rotate_name(opt->output, 1, &w->path);
	else
		w->path = strdup(opt->output);
	return r < 0 || w->path ? r : -ENOMEM;
}

/* A file that is there already is not this watch's: it will be replaced. One that cannot be would look the same. */
static bool is_replaceable(struct watcher *w)
{
	struct stat st;

	if (lstat(w->path, &st) < 0)
		return true;
	w->dev = st.st_dev;
	w->ino = st.st_ino;
	if (S_ISREG(st.st_mode))
		return true;
	log_error("cannot write the trace to %s: it is not a regular file", w->path);
	log_hint("mmattach -p writes to a link or a pipe; top needs a file of its own");
	return false;
}

/*
 * No listing of files shows a trace without a name, and the target may use that disk, too: it gets at most half of
 * what is free now, if that is much.
 */
static void limit_size(int trace)
{
	struct statvfs fs;
	struct rlimit limit;

	if (fstatvfs(trace, &fs) < 0 || getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return;
	limit.rlim_cur = (rlim_t)fs.f_bavail * fs.f_frsize / 2;
	if (limit.rlim_cur > NAMELESS_MAX)
		limit.rlim_cur = NAMELESS_MAX;
	if (limit.rlim_cur < NAMELESS_LEAST)
		return;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* In the child; @trace is kept open over the exec. */
static void become_watch(const struct watcher *w, char **args, pid_t view, int trace)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(w->messages, 2) < 0)
		_exit(126);
	if (trace >= 0) {
		fcntl(trace, F_SETFD, 0);
		limit_size(trace);
	}
	/* Ctrl-C in the terminal is for the view, which then ends us. */
	setpgid(0, 0);
	signal(SIGIO, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != view)
		_exit(126);
	execv("/proc/self/exe", args);
	_exit(126);
}

static int start(struct watcher *w, const struct options *opt, int argc, char **argv, int trace)
{
	char name[32];
	struct words words = { 0 };
	cleanup_free char **args = NULL;
	const pid_t view = getpid();
	int r;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", trace);
	r = make_words(&words, opt, argc, argv, name);
	args = words.all;
	if (r < 0)
		return r;
	w->messages = memfd_create("messages", MFD_CLOEXEC);
	if (w->messages < 0)
		return -errno;
	w->pid = fork();
	if (w->pid == 0)
		become_watch(w, args, view, trace);
	if (w->pid > 0)
		return 0;
	w->pid = 0;
	return -errno;
}

int watcher_start(struct watcher *w, const struct options *opt, int argc, char **argv)
{
	cleanup_close int trace = -1;
	int r;

	*w = (struct watcher)WATCHER_INIT;
	r = opt->output ? use_named(w, opt) : make_nameless(w, &trace);
	if (r == 0 && opt->output && !is_replaceable(w))
		return -EINVAL;
	if (r == 0)
		r = start(w, opt, argc, argv, trace);
	if (r < 0)
		log_error_errno(r, "cannot start the watch");
	return r;
}

/* --- how it is --- */

bool watcher_runs(struct watcher *w)
{
	if (w->pid && waitpid(w->pid, NULL, WNOHANG) == w->pid)
		w->pid = 0;
	return w->pid != 0;
}

bool watcher_has_begun(const struct watcher *w)
{
	struct stat st;

	if (w->trace >= 0)
		return true;
	return stat(w->path, &st) == 0 && !(st.st_dev == w->dev && st.st_ino == w->ino);
}

void watcher_said(const struct watcher *w, struct strbuf *sb)
{
	cleanup_free char *text = malloc(MESSAGES_MAX);
	ssize_t n = text && w->messages >= 0 ? pread_full(w->messages, text, MESSAGES_MAX, 0) : 0;

	if (n > 0)
		strbuf_append(sb, text, (size_t)n);
}

void watcher_stop(struct watcher *w)
{
	if (!watcher_runs(w))
		return;
	kill(w->pid, SIGTERM);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	w->pid = 0;
}

void watcher_end(struct watcher *w)
{
	watcher_stop(w);
	if (w->trace >= 0)
		close(w->trace);
	if (w->messages >= 0)
		close(w->messages);
	free(w->path);
}
