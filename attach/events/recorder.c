/* SPDX-License-Identifier: MIT */
#include "attach/events/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/fdio.h"
#include "base/log.h"
#include "report/tracefiles/runfacts.h"
#include "trace/rotate_names.h"

#define QUIET_US 10000000u

int recorder_init(struct recorder *r)
{
	*r = (struct recorder){ 0 };
	return ledger_init(&r->ledger);
}

void recorder_fini(struct recorder *r)
{
	/* the trace is incomplete anyway: an error does not matter */
	(void)!writer_close(r->trace);
	r->trace = NULL;
	ledger_fini(&r->ledger);
}

/* --- the trace --- */

static void abandon_trace(struct recorder *r, int err)
{
	cleanup_free char *path = r->trace ? strdup(writer_path(r->trace)) : NULL;

	r->trace_error = err;
	(void)!writer_close(r->trace);
	r->trace = NULL;
	if (err == -ETIMEDOUT)
		log_error("no process reads the trace %s", path ? path : r->wanted.path);
	else
		log_error_errno(err, "cannot write the trace %s", path ? path : r->wanted.path);
	if (r->wanted.alone)
		log_hint("what was written is readable; the watch ends");
	else
		log_hint("what was written is readable, and the report has all that was seen");
	recorder_note(r, r->ledger.now_us, "the trace could not be written further from %.1f s on: %s",
		      r->ledger.now_us / 1e6, err == -ETIMEDOUT ? "no process reads it" : strerror(-err));
}

static void to_trace(struct recorder *r, const struct fact *f)
{
	int err = r->trace ? writer_put(r->trace, f) : 0;

	if (err < 0)
		abandon_trace(r, err);
}

/* Each file of a run can be read on its own. */
static int put_head(struct recorder *r, struct writer *w, uint32_t piece)
{
	const struct ledger *l = &r->ledger;
	int err = runfacts_put_run(l, piece, l->run.last, l->now_us, w);

	if (err == 0)
		err = runfacts_put_probes(l, l->now_us, w);
	if (err == 0)
		err = runfacts_put_verdicts(l, 0, l->now_us, w);
	if (err == 0)
		err = runfacts_put_numbers(l, l->now_us, w);
	return err < 0 ? err : runfacts_put_samples(l, l->now_us, w);
}

/* The first file is opened before the run begins: recorder_begin writes its head. */
static int begin_file(void *ctx, struct writer *w, uint32_t piece)
{
	struct recorder *r = ctx;

	r->piece = piece;
	return r->begun ? put_head(r, w, piece) : 0;
}

static int finish_file(void *ctx, struct writer *w, uint32_t piece)
{
	const struct recorder *r = ctx;

	(void)piece;
	return r->begun ? runfacts_put_numbers(&r->ledger, r->ledger.now_us, w) : 0;
}

static void make_run_id(uint8_t id[16])
{
	/* without random bytes, simultaneous runs still differ in a stack address and the pid */
	if (getrandom(id, 16, GRND_NONBLOCK) != 16)
		memcpy(id, &(uint64_t[2]){ (uintptr_t)id, (uint64_t)getpid() }, 16);
}

static uint32_t run_tag(const uint8_t id[16])
{
	uint32_t tag;

	memcpy(&tag, id, sizeof(tag));
	return tag;
}

/* The trial leaves nothing behind. A FIFO is not tried: its reader would see the end of a trace. */
static int try_to_write(const char *path)
{
	struct outfile of;
	struct stat st;
	int err;

	if (lstat(path, &st) == 0 && S_ISFIFO(st.st_mode))
		return 0;
	err = outfile_open(&of, path);
	if (err == 0)
		outfile_abort(&of);
	return err;
}

int recorder_want_trace(struct recorder *r, const struct recorder_trace *trace)
{
	cleanup_free char *first = NULL;
	int err = trace->rotate_bytes ? rotate_name(trace->path, 1, &first) : 0;

	if (err == 0)
		err = try_to_write(first ? first : trace->path);
	if (err < 0)
		log_error_errno(err, "cannot write the trace %s", trace->path);
	r->wanted = *trace;
	return err;
}

static void open_trace(struct recorder *r)
{
	struct writer_options opt = {
		.path = r->wanted.path, .rotate_bytes = r->wanted.rotate_bytes, .defs = &r->ledger.defs,
		.begin = begin_file, .finish = finish_file, .ctx = r,
	};
	int err;

	if (!r->wanted.path)
		return;
	make_run_id(r->ledger.run.id);
	opt.run_tag = run_tag(r->ledger.run.id);
	err = writer_open(&opt, &r->trace);
	if (err < 0)
		abandon_trace(r, err);
}

/* --- facts --- */

uint64_t recorder_time(const struct recorder *r, uint64_t now_ns)
{
	return now_ns > r->start_ns ? (now_ns - r->start_ns) / 1000 : 0;
}

static void to_ledger(struct recorder *r, const struct fact *f)
{
	if (ledger_take(&r->ledger, f) < 0)
		r->out_of_memory = true;
}

void recorder_put(struct recorder *r, const struct fact *f)
{
	struct fact later = *f;

	/*
	 * suspect frees are recorded late, but times in a trace never go back, and the ledger must match the
	 * trace
	 */
	if (later.time_us < r->ledger.now_us)
		later.time_us = r->ledger.now_us;
	/* the ledger first: the trace writer may use what the ledger makes of the fact */
	to_ledger(r, &later);
	to_trace(r, &later);
}

void recorder_put_event(struct recorder *r, uint32_t family, const struct fact *f)
{
	const struct fact family_fact = { .kind = MMT_FAMILY, .time_us = f->time_us, .family = family };

	if (r->ledger.family != family)
		recorder_put(r, &family_fact);
	recorder_put(r, f);
}

void recorder_begin(struct recorder *r, uint64_t start_ns, const struct fact *run, const struct fact *target)
{
	struct fact own = *run;

	r->start_ns = start_ns;
	open_trace(r);
	memcpy(own.run.id, r->ledger.run.id, sizeof(own.run.id));
	to_ledger(r, &own);
	to_ledger(r, target);
	r->begun = true;
	if (r->trace) {
		int err = put_head(r, r->trace, r->piece);

		if (err < 0)
			abandon_trace(r, err);
	}
}

void recorder_count(struct recorder *r, uint64_t time_us, uint32_t which, uint64_t value)
{
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_COUNT, .time_us = time_us, .count = { which, value },
	};

	if (r->ledger.counts[which] != value)
		recorder_put(r, &f);
}

static uint64_t lost_until_now(const struct ledger *l, const char *reason)
{
	for (size_t i = 0; i < l->nlost; i++)
		if (!strcmp(l->lost[i].reason, reason))
			return l->lost[i].count;
	return 0;
}

void recorder_lost(struct recorder *r, uint64_t time_us, const char *reason, uint64_t count)
{
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_LOST, .time_us = time_us, .lost = { reason, count },
	};

	if (count != lost_until_now(&r->ledger, reason))
		recorder_put(r, &f);
}

void recorder_note(struct recorder *r, uint64_t time_us, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	struct fact f = { .kind = MMT_INFO, .info = MMT_NOTE, .time_us = time_us };
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (!text) {
		r->out_of_memory = true;
		return;
	}
	f.note = text;
	recorder_put(r, &f);
}

void recorder_tick(struct recorder *r, uint64_t time_us)
{
	const struct fact alive = { .kind = MMT_TIME, .time_us = time_us };
	int err;

	/* nothing happens: a trace should show how long the watch lasted even if this process is killed */
	if (time_us >= r->ledger.now_us + QUIET_US)
		recorder_put(r, &alive);
	err = r->trace ? writer_tick(r->trace, time_us) : 0;
	if (err < 0)
		abandon_trace(r, err);
}

int recorder_move(struct recorder *r, const char *path)
{
	int err = r->trace ? writer_move(r->trace, path) : r->trace_error ? r->trace_error : -ENOENT;

	r->wanted.path = path;
	if (err < 0)
		log_error_errno(err, "cannot write the trace %s", path);
	return err;
}

int recorder_end(struct recorder *r)
{
	struct writer *w = r->trace;
	int err = 0, closed;

	r->trace = NULL;
	if (w && !writer_is_there(w)) {
		log_error("the trace %s was removed or replaced while it was written", writer_path(w));
		err = -ESTALE;
	} else if (w && !r->wanted.raw) {
		err = writer_put_names(w);
	}
	closed = writer_close(w);
	if (err == 0)
		err = closed;
	if (err < 0 && err != -ESTALE)
		log_error_errno(err, "cannot write the end of the trace %s", r->wanted.path);
	return err < 0 ? err : r->trace_error;
}
