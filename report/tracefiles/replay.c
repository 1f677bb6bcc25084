/* SPDX-License-Identifier: MIT */
/*
 * replay: see replay.h. Files are read one after the other, in the order of their pieces (tracelist.h).
 * Problems are added to the ledger as notes:
 *
 *	of the run		damage, missing pieces: a shrunken trace repeats them
 *	of this reading		where it begins and how it ends (l->own_notes): other pieces may follow later
 */
#include "report/tracefiles/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/statusline.h"
#include "report/tracefiles/progress.h"
#include "report/tracefiles/tracelist.h"
#include "trace/reader.h"

#define NO_PART UINT32_MAX
#define DAMAGES_NOTED 10		/* damaged parts of each file that have a note of their own */

struct replay {
	struct ledger *ledger;
	struct progress progress;
	const struct tracelist_file *file;
	struct reader *reader;
	uint64_t events;
	uint64_t damages;		/* of this file */
	uint64_t last_us;		/* time of the last fact that was not only a change of family */
	bool in_piece;			/* a piece has begun */
	uint32_t part;			/* where the piece lies in the file */
	uint32_t piece, last;		/* its number, as in struct fact_run; the highest number until now */
	int err;			/* of callbacks that cannot return one */
};

/* --- notes --- */

static int note(struct replay *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int note(struct replay *r, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	struct fact f = { .kind = MMT_INFO, .info = MMT_NOTE, .time_us = r->ledger->now_us };
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text = NULL;
		return -ENOMEM;
	}
	f.note = text;
	return ledger_take(r->ledger, &f);
}

static int count_damage(struct replay *r)
{
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_LOST, .time_us = r->ledger->now_us,
		.lost = { LEDGER_DAMAGED, 1 },
	};

	return ledger_take(r->ledger, &f);
}

static int note_damage(struct replay *r, const struct reader_damage *d)
{
	const char *name = r->file->name;

	if (r->damages > DAMAGES_NOTED)
		return 0;
	if (r->damages == DAMAGES_NOTED)
		return note(r, "%s is damaged in more places than are listed here", name);
	if (!d->bytes)
		return note(r, "%s is damaged at byte %" PRIu64 ": %s", name, d->at, d->why);
	if (d->at_end)
		return note(r,
			    "%s is damaged at its end: the last %" PRIu64 " bytes, from %" PRIu64
			    " on, could not be read (%s)",
			    name, d->bytes, d->at, d->why);
	return note(r, "%s is damaged at byte %" PRIu64 ": %" PRIu64 " bytes could not be read (%s)", name,
		    d->at, d->bytes, d->why);
}

static void take_damage(void *ctx, const struct reader_damage *d)
{
	struct replay *r = ctx;
	int err = note_damage(r, d);

	r->damages++;
	if (err == 0)
		err = count_damage(r);
	if (err < 0)
		r->err = err;
}

/* --- pieces --- */

static int note_missing(struct replay *r, uint32_t from, uint32_t to, uint64_t until_us)
{
	struct fact f = { .kind = MMT_INFO, .info = MMT_GAP, .time_us = r->ledger->now_us };
	char why[80];
	int err;

	if (from == to)
		snprintf(why, sizeof(why), "piece %u of the trace is missing", from);
	else
		snprintf(why, sizeof(why), "pieces %u to %u of the trace are missing", from, to);
	f.gap.start_us = r->last_us;
	f.gap.length_us = until_us > f.gap.start_us ? until_us - f.gap.start_us : 0;
	f.gap.why = why;
	err = ledger_take(r->ledger, &f);
	if (err < 0)
		return err;
	return note(r, "%s: blocks that were released meanwhile are still listed as held%s", why,
		    ledger_is_sampled(r->ledger) ? "; what is estimated does not suffer, each piece has it "
						   "for the whole run until then"
						 : "");
}

static int note_disorder(struct replay *r)
{
	int err = note(r,
		       "%s holds pieces of the run twice or out of order: the counts of this report are "
		       "wrong",
		       r->file->name);

	return err < 0 ? err : count_damage(r);
}

/* A piece begins, or more becomes known of the piece that is being read. */
static int take_piece(struct replay *r, const struct fact *f)
{
	uint32_t piece = f->run.piece, last = f->run.last > piece ? f->run.last : piece;
	uint32_t part = reader_part(r->reader), before = r->last;
	bool is_first = !r->in_piece, goes_on = r->in_piece && r->part == part && r->piece == piece;
	bool was_whole = !r->piece;

	r->in_piece = true;
	r->part = part;
	r->piece = piece;
	r->last = last > before ? last : before;
	if (is_first || goes_on)
		return 0;
	if (was_whole || piece <= before)
		return note_disorder(r);
	return piece - before > 1 ? note_missing(r, before + 1, piece - 1, f->time_us) : 0;
}

/*
 * A file whose piece is not known is read after the last piece: its events come too late, but they are
 * counted.
 */
static int note_unknown(struct replay *r, const struct tracelist *t)
{
	if (t->n < 2 || r->file->known)
		return 0;
	return note(r,
		    "%s has lost its beginning, which says which piece of the run it is: it was read as the "
		    "last one",
		    r->file->name);
}

/* --- one file --- */

static int take(void *ctx, const struct fact *f)
{
	struct replay *r = ctx;

	if (r->err < 0)
		return r->err;
	if (f->kind == MMT_INFO && f->info == MMT_RUN) {
		int err = take_piece(r, f);
		if (err < 0)
			return err;
	}
	if (f->kind != MMT_FAMILY && f->time_us > r->last_us)
		r->last_us = f->time_us;
	r->events += f->kind != MMT_INFO;
	progress_reading(&r->progress, r->file->name, reader_at(r->reader), reader_size(r->reader),
			 r->events);
	return ledger_take(r->ledger, f);
}

static void log_unreadable(const char *path, int err)
{
	switch (err) {
	case -EINVAL:
		log_error("%s is not a trace", path);
		log_hint("`mmattach import` reads the files of mmleak and mtrace");
		break;
	case -EPROTO:
		log_error("%s was written by a newer version of mmattach", path);
		log_hint("use that version, or a newer one");
		break;
	default:
		log_error_errno(err, "cannot read %s", path);
	}
}

static int read_file(struct replay *r)
{
	/* the file before may have ended in another family */
	const struct fact family = { .kind = MMT_FAMILY, .time_us = r->ledger->now_us };
	int err = reader_open(r->file->path, &r->reader);

	if (err == 0) {
		r->damages = 0;
		r->part = NO_PART;
		err = r->ledger->has_facts ? ledger_take(r->ledger, &family) : 0;
		if (err == 0)
			err = reader_run(r->reader, take, take_damage, r);
		reader_close(r->reader);
	}
	if (err == 0)
		err = r->err;
	if (err < 0)
		log_unreadable(r->file->path, err);
	return err;
}

/* --- all --- */

/*
 * A piece of a sampled run begins with all estimates until then, but not with the blocks that were tracked
 * until then.
 */
static int note_beginning(struct replay *r)
{
	if (ledger_is_sampled(r->ledger))
		return note(r,
			    "the trace begins with piece %u of its run: what is estimated, how old blocks "
			    "become and the budget are those of the whole run until the "
			    "trace's end; blocks that are listed, their ages, and how many were followed and "
			    "went, are those followed since piece %u began",
			    r->ledger->run.piece, r->ledger->run.piece);
	return note(r,
		    "the trace begins with piece %u of its run: blocks of before count as older than the "
		    "watch",
		    r->ledger->run.piece);
}

static int note_ends(struct replay *r)
{
	struct ledger *l = r->ledger;
	int err = 0;

	l->own_notes = l->nnotes;
	if (l->run.piece > 1)
		err = note_beginning(r);
	if (err == 0 && !l->ended)
		err = note(r,
			   "the trace ends at %.1f s without an end: mmattach was killed or is still writing "
			   "it%s",
			   (double)l->now_us / 1e6, l->run.piece ? ", or there are later pieces" : "");
	l->nown_notes = l->nnotes - l->own_notes;
	return err;
}

static int read_all(struct replay *r, const struct tracelist *t)
{
	int err = 0;

	for (size_t i = 0; i < t->n && err == 0; i++) {
		r->file = &t->files[i];
		err = read_file(r);
		if (err == 0)
			err = note_unknown(r, t);
	}
	return err < 0 ? err : note_ends(r);
}

int replay_files(const char *const *paths, size_t n, const struct replay_options *opt, struct ledger *l)
{
	struct replay r = { .ledger = l };
	struct tracelist t = { 0 };
	int err = ledger_init(l);

	if (err < 0) {
		log_error_errno(err, "cannot read the traces");
		return err;
	}
	l->keep_orphans = opt->keep_orphans;
	err = tracelist_make(paths, n, &t);
	if (err == 0)
		err = read_all(&r, &t);
	statusline_erase();
	tracelist_fini(&t);
	return err;
}
