/* SPDX-License-Identifier: MIT */
/* worker: see worker.h. */
#include "symbolize/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/fdio.h"
#include "base/strbuf.h"
#include "symbolize/answer.h"
#include "symbolize/dwarf/dwarfnames.h"
#include "symbolize/elfnames.h"
#include "symbolize/jail.h"

#define FLUSH_BYTES 32768
#define CPU_SECONDS_MIN 10
#define CPU_FACTOR 10	/* times the limit without an answer: for the whole file */

/* The descriptors' numbers in the new process; all higher ones are closed. */
enum { FD_OUT = 3, FD_FILE, FD_ROOT, FDS };

enum { STATUS_WELL, STATUS_REFUSED, STATUS_NO_MEMORY = DWARF_NO_MEMORY };

static void flush(struct strbuf *sb)
{
	if (strbuf_error(sb))
		_exit(STATUS_NO_MEMORY);
	if (write_full(FD_OUT, sb->s, sb->len))
		_exit(STATUS_REFUSED);
	strbuf_reset(sb);
}

static void take(void *ctx, size_t i, const struct names_frame *frames, size_t n)
{
	struct strbuf *sb = ctx;

	answer_put_frames(sb, i, frames, n);
	if (sb->len >= FLUSH_BYTES)
		flush(sb);
}

static void note(void *ctx, const char *text)
{
	answer_put_note(ctx, text);
}

static void alive(void *ctx)
{
	answer_put(ctx, ANSWER_ALIVE);
	flush(ctx);
}

static void opened(void *ctx)
{
	(void)ctx;
	jail_close();
}

/* Move @fd to a number above all of these. */
static int move_up(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FDS);
}

/* All are copied to higher numbers first: one may have the number that another needs. */
static bool place_fds(const struct names_file *file, int out)
{
	int from[FDS] = { -1, -1, -1, move_up(out), move_up(file->fd), move_up(file->root) };
	int null = move_up(open_null());

	if (null < 0 || from[FD_OUT] < 0 || from[FD_FILE] < 0)
		return false;
	for (int fd = 0; fd < FDS; fd++) {
		if (fd < FD_OUT)
			from[fd] = null;
		if (from[fd] < 0)
			close(fd);
		else if (dup3(from[fd], fd, fd < FD_OUT ? 0 : O_CLOEXEC) < 0)
			return false;
	}
	closefrom(FDS);
	return true;
}

static uint64_t cpu_seconds(const struct names_options *opt)
{
	uint64_t seconds = opt->limit_ns / 1000000000 * CPU_FACTOR;

	return seconds < CPU_SECONDS_MIN ? CPU_SECONDS_MIN : seconds;
}

static int look_up(const struct worker_job *job)
{
	struct strbuf sb = STRBUF_INIT;
	struct names_file file = { FD_FILE, job->file->path, job->file->root < 0 ? -1 : FD_ROOT };
	struct elfnames l = {
		.file = &file, .opt = job->opt, .dwarf = job->dwarf, .addrs = job->addrs, .n = job->n,
		.take = take, .note = note, .alive = alive, .opened = opened, .ctx = &sb,
	};
	int rc = elfnames_run(&l);

	if (rc)
		return rc == -ENOMEM ? STATUS_NO_MEMORY : STATUS_REFUSED;
	answer_put(&sb, ANSWER_DONE);
	flush(&sb);
	return STATUS_WELL;
}

static void run(const struct worker_job *job, int out)
{
	if (!place_fds(job->file, out) || jail_limit(job->opt->memory_bytes, cpu_seconds(job->opt)))
		_exit(STATUS_REFUSED);
	_exit(look_up(job));
}

int worker_start(const struct worker_job *job, struct worker *out)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	out->pid = jail_fork("mm-names");
	if (out->pid == 0)
		run(job, fds[1]);
	int err = errno;
	close(fds[1]);
	out->fd = fds[0];
	if (out->pid > 0)
		return 0;
	close(fds[0]);
	return -err;
}

static enum worker_end end_of(int status)
{
	if (WIFEXITED(status)) {
		if (WEXITSTATUS(status) == STATUS_NO_MEMORY)
			return WORKER_NO_MEMORY;
		return WEXITSTATUS(status) == STATUS_WELL ? WORKER_WELL : WORKER_REFUSED;
	}
	if (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU)
		return WORKER_NO_TIME;
	return WORKER_CRASHED;
}

enum worker_end worker_stop(struct worker *w)
{
	int status = 0;
	pid_t got;

	close(w->fd);
	kill(w->pid, SIGKILL);
	do {
		got = waitpid(w->pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	return got == w->pid ? end_of(status) : WORKER_CRASHED;
}
