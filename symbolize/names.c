/* SPDX-License-Identifier: MIT */
/*
 * names: see names.h. The requesting side: start a helper, take its answers, stop it.
 *
 *	with debug information ──▶ all answered
 *	        │ crash, limit
 *	        ▼
 *	symbols only ──▶ the rest answered
 *	        │ crash, limit
 *	        ▼
 *	no names for the rest
 */
#include "symbolize/names.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/strbuf.h"
#include "symbolize/answer.h"
#include "symbolize/worker.h"

#define READ_BYTES (1u << 18)
#define WORDS_MAX 1000	/* limit for notes and ALIVE records, which are no answers */

struct request {
	const struct names_file *file;
	const struct names_options *opt;
	names_take *take;
	void *ctx;
	char *why;
	size_t why_size;
	size_t n;
	bool *answered;
	taddr *addrs;		/* sent to the running helper: those not answered yet */
	size_t *index;		/* of them, in the caller's order */
	size_t asked;
	unsigned words;
	uint64_t deadline;	/* of the next record */
};

/* What has been read from a helper and not processed yet. */
struct inbox {
	char *bytes;
	size_t n, room;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Only the first problem is reported. */
static void set_remark(struct request *r, const char *what)
{
	if (r->why_size && !r->why[0])
		snprintf(r->why, r->why_size, "%s", what);
}

/* Readable at @deadline or before: 0; -ETIMEDOUT; -ECANCELED: @stop became readable. */
static int wait_readable(int fd, int stop, uint64_t deadline)
{
	for (;;) {
		struct pollfd p[2] = { { .fd = fd, .events = POLLIN },
				       { .fd = stop > 0 ? stop : -1, .events = POLLIN } };
		uint64_t now = now_ns();
		uint64_t ms = now < deadline ? (deadline - now) / 1000000 + 1 : 0;
		int got = poll(p, 2, ms < 3600000 ? (int)ms : 3600000);

		if (got > 0 && p[1].revents & POLLIN)
			return -ECANCELED;
		if (got > 0)
			return 0;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (now >= deadline)
			return -ETIMEDOUT;
	}
}

/* Read more: the number of bytes, 0 at the end, -errno. */
static ssize_t receive(struct inbox *in, int fd)
{
	ssize_t got;

	if (in->room - in->n < READ_BYTES) {
		size_t room = in->n + 2 * READ_BYTES;
		char *more = realloc(in->bytes, room);

		if (!more)
			return -ENOMEM;
		in->bytes = more;
		in->room = room;
	}
	do {
		got = read(fd, in->bytes + in->n, in->room - in->n);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	in->n += (size_t)got;
	return got;
}

/* One record. 0, 1 if it was the last, -EINVAL if it is not valid. */
static int take_record(struct request *r, const struct answer *a)
{
	r->deadline = now_ns() + r->opt->limit_ns;
	if (a->kind != ANSWER_FRAMES && ++r->words > WORDS_MAX)
		return -EINVAL;
	switch (a->kind) {
	case ANSWER_FRAMES:
		if (a->index >= r->asked || r->answered[r->index[a->index]])
			return -EINVAL;
		r->answered[r->index[a->index]] = true;
		r->take(r->ctx, r->index[a->index], a->frames, a->n);
		return 0;
	case ANSWER_NOTE:
		set_remark(r, a->note);
		return 0;
	case ANSWER_ALIVE:
		return 0;
	default:
		return 1;
	}
}

/* All whole records in @in. Returns the same as take_record. */
static int take_records(struct request *r, struct inbox *in)
{
	struct names_frame frames[ANSWER_FRAMES_MAX];
	struct answer a;
	size_t at = 0;
	int rc = 0;

	while (!rc) {
		ssize_t got = answer_read(in->bytes + at, in->n - at, frames, &a);

		if (got == 0)
			break;
		rc = got < 0 ? (int)got : take_record(r, &a);
		at += got > 0 ? (size_t)got : 0;
	}
	memmove(in->bytes, in->bytes + at, in->n - at);
	in->n -= at;
	return rc;
}

/* 0 after ANSWER_DONE; -ETIMEDOUT; -EPIPE if the helper ended before; -EINVAL; -ENOMEM. */
static int listen_to(struct request *r, int fd)
{
	struct inbox in = { NULL, 0, 0 };
	int rc = 0;

	r->deadline = now_ns() + r->opt->limit_ns;
	while (!rc) {
		ssize_t got;

		rc = wait_readable(fd, r->opt->stop, r->deadline);
		if (rc)
			break;
		got = receive(&in, fd);
		rc = got > 0 ? take_records(r, &in) : got < 0 ? (int)got : -EPIPE;
	}
	free(in.bytes);
	return rc > 0 ? 0 : rc;
}

static size_t collect_open(struct request *r, const taddr *addrs)
{
	r->asked = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (r->answered[i])
			continue;
		r->addrs[r->asked] = addrs[i];
		r->index[r->asked++] = i;
	}
	return r->asked;
}

static const char *failure(int rc, enum worker_end end)
{
	if (rc == -ETIMEDOUT || (rc == -EPIPE && end == WORKER_NO_TIME))
		return "reading it took too long";
	if (rc == -EINVAL)
		return "it was read with nonsense as the result";
	switch (end) {
	case WORKER_NO_MEMORY:
		return "reading it took too much memory";
	case WORKER_CRASHED:
		return "it is damaged: reading it ended with a crash";
	default:
		return "it cannot be read as an ELF file";
	}
}

/*
 * Ask one helper for all addresses not answered yet. 0, also if it failed; -errno if it could not be started
 * or read.
 */
static int ask(struct request *r, const taddr *addrs, bool dwarf)
{
	struct worker_job job = { .file = r->file, .opt = r->opt, .dwarf = dwarf };
	struct worker w;
	enum worker_end end;
	int rc;

	job.n = collect_open(r, addrs);
	job.addrs = r->addrs;
	if (!job.n)
		return 0;
	rc = worker_start(&job, &w);
	if (rc)
		return rc;
	rc = listen_to(r, w.fd);
	end = worker_stop(&w);
	if (rc == -ENOMEM || rc == -ECANCELED)
		return rc;
	if (rc)
		set_remark(r, failure(rc, end));
	return 0;
}

/* The remaining addresses have no names. */
static void take_rest(struct request *r)
{
	const struct names_frame nothing = { 0 };

	for (size_t i = 0; i < r->n; i++) {
		if (!r->answered[i])
			r->take(r->ctx, i, &nothing, 1);
	}
}

int names_resolve(const struct names_file *f, const struct names_options *opt, const taddr *addrs, size_t n,
		  names_take *take, void *ctx, char *why, size_t why_size)
{
	struct request r = {
		.file = f, .opt = opt, .take = take, .ctx = ctx, .why = why, .why_size = why_size, .n = n,
		.answered = calloc(n + 1, sizeof(*r.answered)), .addrs = calloc(n + 1, sizeof(*r.addrs)),
		.index = calloc(n + 1, sizeof(*r.index)),
	};
	int rc = r.answered && r.addrs && r.index ? 0 : -ENOMEM;

	if (why_size)
		why[0] = '\0';
	if (!rc)
		rc = ask(&r, addrs, true);
	if (!rc)
		rc = ask(&r, addrs, false);
	if (!rc)
		take_rest(&r);
	free(r.answered);
	free(r.addrs);
	free(r.index);
	return rc;
}
