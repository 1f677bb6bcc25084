/* SPDX-License-Identifier: MIT */
#include "report/tracefiles/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/log.h"
#include "trace/format.h"
#include "trace/rotate_names.h"

#define GONE_MAX 100	/* pieces that may be missing before the next one */

static int add_path(struct follow *f, char *path)
{
	char **slot = grow_by_one(&f->paths, f->npaths, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	*slot = path;
	f->npaths++;
	return 0;
}

int follow_open(struct follow *f, const char *path)
{
	char *copy = strdup(path);
	int r;

	*f = (struct follow){ .fd = -1 };
	r = ledger_init(&f->ledger);
	if (r == 0)
		r = copy ? add_path(f, copy) : -ENOMEM;
	if (r < 0)
		free(copy);
	return r;
}

static void close_piece(struct follow *f)
{
	reader_close(f->reader);
	f->reader = NULL;
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

void follow_close(struct follow *f)
{
	close_piece(f);
	for (size_t i = 0; i < f->npaths; i++)
		free(f->paths[i]);
	free(f->paths);
	ledger_fini(&f->ledger);
}

static const char *current(const struct follow *f)
{
	return f->paths[f->npaths - 1];
}

static int take(void *ctx, const struct fact *fact)
{
	struct follow *f = ctx;

	f->facts++;
	return ledger_take(&f->ledger, fact);
}

static void see_damage(void *ctx, const struct reader_damage *d)
{
	struct follow *f = ctx;

	(void)d;
	f->damages++;
}

/* The piece before may have ended in another family. */
static int begin_piece(struct follow *f)
{
	const struct fact family = { .kind = MMT_FAMILY, .time_us = f->ledger.now_us };

	return f->ledger.has_facts ? ledger_take(&f->ledger, &family) : 0;
}

/* 1: the file has no head yet. */
static int open_piece(struct follow *f)
{
	struct stat st;
	int r;

	if (stat(current(f), &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ESPIPE;
	if (st.st_size < MMT_FILE_HEAD)
		return 1;
	f->fd = open(current(f), O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (f->fd < 0)
		return -errno;
	r = reader_open(current(f), &f->reader);
	if (r == 0)
		r = begin_piece(f);
	if (r < 0)
		close_piece(f);
	return r;
}

/* --- the next piece --- */

static int stop_at_first(void *ctx, const struct fact *fact)
{
	(void)ctx;
	(void)fact;
	return 1;
}

/* A file of that name may be left from an earlier run. */
static bool is_same_run(const struct follow *f, const char *path)
{
	uint32_t ours, its;
	struct reader *r;
	struct follow unused = { 0 };
	bool same = false;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || reader_open(path, &r) < 0)
		return false;
	if (reader_follow(r, stop_at_first, see_damage, &unused) == 1)
		same = reader_tag(r, &its) && reader_tag(f->reader, &ours) && its == ours;
	reader_close(r);
	return same;
}

/* *@out is NULL if there is none yet. */
static int find_next(struct follow *f, char **out, uint32_t *gone)
{
	*out = NULL;
	for (*gone = 0; *gone < GONE_MAX; ++*gone) {
		char *path;
		int r = rotate_later(current(f), *gone + 1, &path);

		if (r < 0)
			return r == -EINVAL ? 0 : r;
		if (access(path, F_OK) == 0 && is_same_run(f, path)) {
			*out = path;
			return 0;
		}
		free(path);
	}
	return 0;
}

/* 1: there is another piece, which is now the current one. */
static int go_on(struct follow *f)
{
	uint32_t gone;
	char *next;
	int r = f->ledger.run.piece ? find_next(f, &next, &gone) : 0;

	if (r < 0 || !f->ledger.run.piece || !next)
		return r;
	/* what was written between our last look and the beginning of the next piece */
	r = reader_follow(f->reader, take, see_damage, f);
	if (r == 0)
		r = add_path(f, next);
	if (r < 0) {
		free(next);
		return r;
	}
	f->missed += gone;
	close_piece(f);
	return 1;
}

int follow_more(struct follow *f)
{
	int r;

	do {
		r = f->reader ? 0 : open_piece(f);
		if (r == 0)
			r = reader_follow(f->reader, take, see_damage, f);
		else if (r > 0)
			return 0;
		if (r == 0)
			r = go_on(f);
	} while (r > 0);
	return r;
}

/* --- the writer --- */

/*
 * A lease for reading is granted only if no process has the file open for writing. It is released at once. If a
 * process wants to write in just that moment, the kernel sends SIGIO, which would end us.
 */
static bool is_written(int fd)
{
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return true;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

/* A piece in which no block is whole yet is not followed yet, and may be the one that is written. */
static bool next_is_written(const struct follow *f)
{
	cleanup_free char *next = NULL;
	cleanup_close int fd = -1;

	if (!f->ledger.run.piece || rotate_later(current(f), 1, &next) < 0) {
		next = NULL;
		return false;
	}
	fd = open(next, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd >= 0 && is_written(fd);
}

bool follow_is_written(const struct follow *f)
{
	return f->fd < 0 || is_written(f->fd) || next_is_written(f);
}

void follow_log(const struct follow *f, int err)
{
	switch (err) {
	case -ESPIPE:
		log_error("cannot follow %s: it is not a file", current(f));
		log_hint("write the trace to a file, or report from the pipe without --follow");
		break;
	case -EINVAL:
		log_error("%s is not a trace", current(f));
		break;
	case -EPROTO:
		log_error("%s was written by a newer version of mmattach", current(f));
		log_hint("use that version, or a newer one");
		break;
	default:
		log_error_errno(err, "cannot read %s", current(f));
	}
}
