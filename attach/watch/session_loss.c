/* SPDX-License-Identifier: MIT */
#include "attach/watch/session_loss.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/events/recorder.h"
#include "attach/events/tally.h"
#include "attach/loss/loss_blocks.h"
#include "attach/loss/loss_content.h"
#include "attach/options/options.h"
#include "attach/sampling/blocks/block_poll.h"
#include "attach/sampling/sampling.h"
#include "attach/sampling/sampling_stacks.h"
#include "attach/verdicts/verdict_snapshot.h"
#include "attach/watch/session.h"
#include "attach/watch/session_probes.h"
#include "attach/watch/session_verdicts.h"
#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/fdio.h"
#include "base/grow.h"
#include "base/log.h"

#define FIRST_NS 500000000ull	/* after the beginning: what a budget leaves is known by then */
/* a budget is for any ten seconds: between two pauses is a little more, and before the end, too */
#define AGAIN_NS 10500000000ull
#define LEFT_NS 11500000000ull
#define FAILED_MOST 8		/* then three quarters of an hour */
#define DOUBTFUL_PART 10
#define LOST_ENOUGH 3		/* blocks of a size: fewer may be lost by a site that was hardly ever called */

#define UNSEEN								\
	"not all memory was seen that may point to them (it was swapped out, not copied, or of a thread that "	\
	"was not stopped)"

_Static_assert(LOSS_SIZES <= SAMPLING_LOST_SIZES, "there is room for all sizes");

/* Of a tracked block. */
struct judged {
	taddr addr;
	uint64_t verdict;
};

/* Of a block that the kernel's probes have seen. */
struct marked {
	taddr addr;
	uint64_t mark;		/* loss_mark() */
};

/* What a copy shows. */
struct seen {
	const struct snapshot *memory;
	struct loss *loss;
	struct judged *tracked;
	size_t n, room;
	struct marked *marked;
	size_t nmarked, marked_room;
};

static int see_tracked(void *ctx, taddr addr, enum verdict verdict)
{
	struct seen *its = ctx;
	int r = grow_for(&its->tracked, its->n, &its->room, sizeof(*its->tracked));

	if (r == 0)
		its->tracked[its->n++] = (struct judged){ addr, verdict };
	return r;
}

static int see_any(void *ctx, taddr addr, uint64_t size)
{
	struct seen *its = ctx;

	return loss_add(its->loss, addr, size);
}

static int see_marked(void *ctx, taddr addr, uint64_t size)
{
	const size_t n = size < LOSS_MARK_BYTES ? size : LOSS_MARK_BYTES;
	struct seen *its = ctx;
	char bytes[LOSS_MARK_BYTES];
	int r = 0;

	if (snapshot_read(its->memory, addr, bytes, n) < 0)
		return 0;
	r = grow_for(&its->marked, its->nmarked, &its->marked_room, sizeof(*its->marked));
	if (r == 0)
		its->marked[its->nmarked++] = (struct marked){ addr, loss_mark(addr, size, bytes, n) };
	return r;
}

/* --- while the watch goes on: copies are searched by a copy of ourselves --- */

/* What the search writes: this; the tracked blocks; if the result is 1, the lost blocks, and those seen by probes. */
struct found {
	int64_t result;		/* as of verdict_snapshot_each */
	uint64_t ntracked, nlost, nmarked;
	uint64_t marks_known;
};

/* In the copy of ourselves. */
static int search(void *ctx, uint32_t round)
{
	struct session *s = ctx;
	struct loss lost = { 0 };
	struct seen its = { .memory = &s->snapshot->memory, .loss = &lost };
	const struct verdict_snapshot_see see = { see_tracked, see_any, &its };
	struct found f = { .result = verdict_snapshot_each(s->snapshot, &s->recorder->ledger, &see) };

	(void)round;
	f.ntracked = its.n;
	f.nlost = f.result > 0 ? lost.n : 0;
	f.marks_known = f.result > 0 && session_probes_each(s, see_marked, &its) == 0;
	f.nmarked = f.marks_known ? its.nmarked : 0;
	return write_full(s->loss.found, &f, sizeof(f)) < 0 ||
	       write_full(s->loss.found, its.tracked, f.ntracked * sizeof(*its.tracked)) < 0 ||
	       write_full(s->loss.found, lost.lost, f.nlost * sizeof(*lost.lost)) < 0 ||
	       write_full(s->loss.found, its.marked, f.nmarked * sizeof(*its.marked)) < 0;
}

static void fail(struct session *s, const char *why)
{
	snprintf(s->loss.why_not, sizeof(s->loss.why_not), "%s", why);
	log_verbose("what the process has lost is not known: %s", why);
}

static void begin_search(struct session *s)
{
	struct session_loss *l = &s->loss;

	l->found = memfd_create("lost", MFD_CLOEXEC);
	if (l->found < 0) {
		fail(s, strerror(errno));
		return;
	}
	l->search = (struct interim){ .name = "search for lost blocks", .report = search, .ctx = s };
	l->copied_ns = s->snapshot->had.at_ns;
	interim_ask(&l->search);
	interim_tick(&l->search, l->copied_ns);
	l->searching = true;
}

/* How a copy was searched. */
struct judging {
	int64_t result;		/* as of verdict_snapshot_each */
	uint64_t at_ns;		/* when it was made */
	bool last;
};

static void judge_tracked(struct session *s, const struct judged *all, size_t n, const struct judging *how)
{
	if (how->result >= 0)
		sampling_judge_anew(s->sampling);
	for (size_t i = 0; i < n; i++)
		sampling_judge(s->sampling, all[i].addr,
			       &(struct block_judged){ (enum verdict)all[i].verdict, how->at_ns, how->last });
	if (n && how->result >= 0)
		s->loss.judged_ns = how->at_ns;
}

/* All that the search has written, and no less; NULL: it did not come to its end, or we are out of memory. */
static struct found *read_found(int fd)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	cleanup_free struct found *f = size >= (off_t)sizeof(*f) ? malloc((size_t)size) : NULL;
	struct found *out = NULL;

	if (f && pread(fd, f, (size_t)size, 0) == size &&
	    sizeof(*f) + f->ntracked * sizeof(struct judged) + f->nlost * sizeof(struct block) +
			    f->nmarked * sizeof(struct marked) == (uint64_t)size) {
		out = f;
		f = NULL;
	}
	return out;
}

/* What the search has found; false: nothing, and s->loss.why_not says why. */
static bool take_found(struct session *s, struct loss *out, struct addrmap *marks, bool *marks_known)
{
	cleanup_close int fd = s->loss.found;
	cleanup_free struct found *f = NULL;
	const struct judged *tracked;
	const struct block *lost;
	const struct marked *marked;
	int r = 0;

	s->loss.found = -1;
	s->loss.searching = false;
	f = read_found(fd);
	if (!f) {
		fail(s, "the search in the copy of the process did not come to its end");
		return false;
	}
	tracked = (const void *)(f + 1);
	lost = (const void *)(tracked + f->ntracked);
	marked = (const void *)(lost + f->nlost);
	judge_tracked(s, tracked, f->ntracked, &(struct judging){ f->result, s->loss.copied_ns, false });
	if (f->result <= 0) {
		fail(s, f->result == -ENODATA ? UNSEEN : "the blocks of the heap are not known");
		return false;
	}
	for (uint64_t i = 0; r == 0 && i < f->nlost; i++)
		r = loss_add(out, lost[i].addr, lost[i].size);
	for (uint64_t i = 0; r == 0 && i < f->nmarked; i++)
		r = addrmap_put(marks, marked[i].addr, &marked[i].mark);
	*marks_known = f->marks_known;
	if (r < 0)
		fail(s, "we are out of memory");
	return r == 0;
}

/* Stop the process, and copy it. false: it cannot be, or the watch has ended meanwhile; s->loss.why_not may say why. */
static bool copy(struct session *s)
{
	if (!session_verdicts_take(s)) {
		fail(s, s->snapshot->why_not);
		return false;
	}
	log_verbose("the process was stopped for %.1f ms", (double)s->snapshot->had.had_ns / 1e6);
	return s->watch.end == WATCH_GOES_ON;
}

/* And search the copy, if there is one. Is that under way? There may be another copy at the end. */
static bool search_copy(struct session *s, bool copied)
{
	if (copied)
		begin_search(s);
	session_verdicts_drop(s);
	return s->loss.searching;
}

/* A copy for the kernel's probes. These are taken out before the search is begun, which takes a while. */
static void copy_for_probes(struct session *s)
{
	const bool may = !s->loss.searching && s->watch.end == WATCH_GOES_ON && s->snapshot->state == SNAPSHOT_NONE,
		   copied = may && copy(s);

	session_probes_copied(s, copied);
	if (!may)
		return;
	s->loss.for_probes = copied;
	if (!search_copy(s, copied) && copied)
		session_probes_found(s, NULL);
}

static uint64_t turn(void *ctx, uint64_t now_ns)
{
	struct session *s = ctx;
	bool wanted;
	const uint64_t next_ns = session_probes_turn(s, now_ns, &wanted);

	if (wanted)
		copy_for_probes(s);
	return next_ns;
}

/* What is lost now, later than it was before: that is not what the kernel's probes can have seen. */
static void begin_probes(struct session *s, struct loss *now, const uint64_t *sizes, size_t n)
{
	if (!session_probes_begin(s, sizes, n))
		return;
	s->watch.turn = turn;
	s->preparing = session_probes_meanwhile;
	s->loss.then = *now;
	s->loss.then_ns = s->loss.copied_ns;
	*now = (struct loss){ 0 };
}

/* Nothing was learned: until the next copy it waits twice as long each time. */
static void try_later(struct session *s)
{
	s->loss.failed += s->loss.failed < FAILED_MOST;
	s->loss.next_ns = s->loss.copied_ns + (AGAIN_NS << (s->loss.failed - 1));
}

/* The next copy is compared with this one, as blocks of the one before came back. */
static void begin_anew(struct session *s, struct loss *now)
{
	loss_fini(&s->loss.before);
	s->loss.before = *now;
	s->loss.at_ns = s->loss.copied_ns;
	*now = (struct loss){ 0 };
}

/* @now: all that is lost; it may be kept. If hardly any is lost yet, or that is doubtful, there is one more copy. */
static void learn_sizes(struct session *s, struct loss *now)
{
	struct loss since = { 0 };
	uint64_t sizes[LOSS_SIZES];
	struct loss_sum sum;
	size_t n = 0;

	if (s->watch.end != WATCH_GOES_ON || loss_copy(now, &since) < 0)
		return;
	loss_between(&s->loss.before, &since, &sum);
	loss_fini(&since);
	for (size_t i = 0; i < LOSS_SIZES; i++)
		if (sum.sizes[i].blocks >= LOST_ENOUGH)
			sizes[n++] = sum.sizes[i].size;
	s->loss.again = n && !loss_is_doubtful(&sum);
	if (loss_is_doubtful(&sum))
		begin_anew(s, now);
	if (!s->loss.again) {
		try_later(s);
		return;
	}
	sampling_lost_sizes(s->sampling, sizes, n);
	begin_probes(s, now, sizes, n);
}

static void keep_latest(struct session *s, const struct loss *lost)
{
	loss_fini(&s->loss.latest);
	s->loss.latest_ns = loss_copy(lost, &s->loss.latest) < 0 ? 0 : s->loss.copied_ns;
	s->tally->out_of_memory |= !s->loss.latest_ns;
}

static void end_search(struct session *s)
{
	struct session_loss *l = &s->loss;
	struct loss lost = { 0 };
	struct addrmap marks;
	bool known, marks_known;

	addrmap_init(&marks, sizeof(uint64_t));
	known = take_found(s, &lost, &marks, &marks_known);
	if (known && l->at_ns)
		keep_latest(s, &lost);
	if (l->for_probes) {
		const struct loss_copied copy = { l->copied_ns, &lost, known && marks_known ? &marks : NULL };

		session_probes_found(s, known ? &copy : NULL);
	} else if (known && !l->at_ns) {
		l->before = lost;
		l->at_ns = l->copied_ns;
		lost = (struct loss){ 0 };
	} else if (known) {
		learn_sizes(s, &lost);
	} else {
		l->again = false;
		try_later(s);
	}
	addrmap_fini(&marks);
	loss_fini(&lost);
}

/* Does the watch go on for so long? Until Ctrl-C, most likely. */
static bool is_left(const struct session *s, uint64_t now_ns, uint64_t ns)
{
	return !s->opt->duration_ns || now_ns + ns <= s->watch.end_ns;
}

static bool is_time(const struct session *s, uint64_t now_ns)
{
	return s->sampling && !s->opt->program && !s->member && !s->loss.again &&
	       now_ns >= (s->loss.next_ns ? s->loss.next_ns : s->watch.start_ns + FIRST_NS) &&
	       is_left(s, now_ns, LEFT_NS) && s->watch.end == WATCH_GOES_ON && s->snapshot->state == SNAPSHOT_NONE &&
	       session_verdicts_wanted(s);
}

/* Will the process be copied within ten seconds, as far as is known? */
static bool is_copied_soon(const struct session *s, uint64_t now_ns)
{
	const struct session_loss *l = &s->loss;
	const uint64_t then_ns = now_ns + SESSION_SHARE_NS;

	return !s->member && session_verdicts_wanted(s) &&
	       (!is_left(s, now_ns, SESSION_SHARE_NS) ||
		(!l->again && !s->opt->program && is_left(s, now_ns, LEFT_NS) && l->next_ns && l->next_ns < then_ns));
}

void session_loss_tick(struct session *s, uint64_t now_ns)
{
	bool second;

	/* so that it is known how they work when a copy is to be made */
	if (s->sampling && !s->awake.at_ns)
		(void)!awake_look(&s->awake, s->at.target.pid, now_ns);
	if (s->sampling && s->watch.end == WATCH_GOES_ON && session_share_set(s, is_copied_soon(s, now_ns)) < 0)
		log_verbose("the keeper does not answer what part of the budget samples have");
	if (s->loss.searching && interim_ready(&s->loss.search))
		end_search(s);
	if (s->loss.searching || !is_time(s, now_ns))
		return;
	second = s->loss.at_ns != 0;
	if (search_copy(s, copy(s)))
		s->loss.again = second;
	else
		s->loss.failed += s->loss.failed < FAILED_MOST;
	s->loss.next_ns = link_clock_ns() + (AGAIN_NS << (s->loss.failed ? s->loss.failed - 1 : 0));
}

/* --- at the end --- */

static void note_unknown(struct session *s, uint64_t t)
{
	if (*s->loss.why_not && !s->loss.at_ns)
		recorder_note(s->recorder, t, "what the whole process has lost is not known: %s", s->loss.why_not);
}

/* @memory: the last copy, in which the blocks that the probes have seen are looked at. 0 or -ENOMEM. */
static int mark_all(struct session *s, const struct snapshot *memory, struct addrmap *marks)
{
	struct seen its = { .memory = memory };
	int r = session_probes_each(s, see_marked, &its);

	for (size_t i = 0; r == 0 && i < its.nmarked; i++)
		r = addrmap_put(marks, its.marked[i].addr, &its.marked[i].mark);
	free(its.marked);
	return r;
}

/* @all: what was lost since the first copy; @since: all that is lost; @copy: the memory in which it is, or NULL. */
static void end_probes(struct session *s, const struct loss *all, struct loss *since, uint64_t at_ns,
		       const struct snapshot *copy, uint64_t t)
{
	struct addrmap marks;
	struct loss_sum sum;
	int r;

	if (s->probes) {
		addrmap_init(&marks, sizeof(uint64_t));
		r = copy ? mark_all(s, copy, &marks) : 0;
		s->tally->out_of_memory |= r < 0;
		loss_between(&s->loss.then, since, &sum);
		session_probes_end(s,
				   &(struct session_probes_loss){
					   .all = all, .since = since,
					   .found = at_ns == s->loss.latest_ns,
					   .since_us = (at_ns - s->loss.then_ns) / 1000, .at_ns = at_ns,
					   .marks = copy && r == 0 ? &marks : NULL },
				   t);
		addrmap_fini(&marks);
	}
	loss_fini(since);
}

/* @new: what was lost meanwhile, @copy: the memory in which it is, or NULL. */
static void note_loss(struct session *s, const struct loss *new, const struct loss_sum *sum, struct snapshot *copy,
		      uint64_t over_ns, uint64_t t)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (!sum->blocks)
		return;
	s->tally->out_of_memory |= loss_content_put(&text, new, sum, copy, s->planting->modules) < 0;
	recorder_note(s->recorder, t,
		      "in %.0f s the process lost %" PRIu64 " blocks, %" PRIu64 " bytes, for good: most are %s",
		      (double)over_ns / 1e9, sum->blocks, sum->bytes, strbuf_str(&text));
}

/* @at_end: what is lost in the last copy, made at @at_ns; @copy: that, or NULL. false: that is not known. */
static bool tell_loss(struct session *s, struct loss *at_end, uint64_t at_ns, struct snapshot *copy, uint64_t t)
{
	const uint64_t over_ns = at_ns - s->loss.at_ns;
	struct loss since = { 0 };
	struct loss_sum sum;

	s->tally->out_of_memory |= loss_copy(at_end, &since) < 0;
	loss_between(&s->loss.before, at_end, &sum);
	if (loss_is_doubtful(&sum)) {
		loss_fini(&since);
		recorder_note(s->recorder, t,
			      "what the process has lost is not known: %" PRIu64 " of %" PRIu64
			      " blocks to which nothing pointed were freed later, or something points to them "
			      "again, so there are pointers that a copy of the memory does not show",
			      sum.back, sum.before_blocks);
		return false;
	}
	/* else less is lost, as far as is known, than what the groups may have lost: nothing follows from how much */
	if (sum.doubtful <= sum.blocks / DOUBTFUL_PART)
		sampling_loss(s->sampling, &(struct fact_loss){
					   .over_us = over_ns / 1000, .blocks = sum.blocks, .bytes = sum.bytes,
					   .before_blocks = sum.before_blocks, .before_bytes = sum.before_bytes });
	note_loss(s, at_end, &sum, copy, over_ns, t);
	if (sum.doubtful)
		recorder_note(s->recorder, t,
			      "%" PRIu64 " more blocks to which nothing points do not count as lost: of their sizes "
			      "too many were freed later, or something points to them again",
			      sum.doubtful);
	end_probes(s, at_end, &since, at_ns, copy, t);
	return true;
}

static void tell_tracked(struct session *s, const struct seen *its, uint64_t t)
{
	char text[DURATION_TEXT];
	uint64_t lost = 0;

	for (size_t i = 0; i < its->n; i++)
		lost += verdict_is_lost((enum verdict)its->tracked[i].verdict);
	recorder_note(s->recorder, t,
		      "at the end the process was stopped for %s and copied: %" PRIu64 " of %" PRIu64
		      " tracked blocks are lost",
		      duration_format(s->snapshot->had.had_ns, text, sizeof(text)), lost, (uint64_t)its->n);
}

/* The process could not be copied at the end: what is known is as of the last copy before. */
static void tell_latest(struct session *s, uint64_t t)
{
	const uint64_t before_ns = s->end_ns > s->loss.latest_ns ? s->end_ns - s->loss.latest_ns : 0;
	char text[DURATION_TEXT];

	if (!tell_loss(s, &s->loss.latest, s->loss.latest_ns, NULL, t))
		return;
	recorder_note(s->recorder, t, "what the process has lost is as it was %s before the end",
		      duration_format(before_ns, text, sizeof(text)));
}

/* There is no copy of the end. */
static void note_not_looked(struct session *s, uint64_t t)
{
	const uint64_t before_ns = s->end_ns > s->loss.judged_ns ? s->end_ns - s->loss.judged_ns : 0;
	char text[DURATION_TEXT];

	if (s->loss.judged_ns)
		recorder_note(s->recorder, t, "which tracked blocks are lost is known as of %s before the end: %s",
			      duration_format(before_ns, text, sizeof(text)), s->snapshot->why_not);
	else
		recorder_note(s->recorder, t, "which tracked blocks are lost is not known: %s", s->snapshot->why_not);
}

void session_loss_end(struct session *s)
{
	const uint64_t t = recorder_time(s->recorder, s->end_ns);
	struct loss at_end = { 0 };
	struct seen its = { .loss = &at_end };
	const struct verdict_snapshot_see see = { see_tracked, see_any, &its };
	int r = 0;

	if (s->loss.searching) {
		interim_end(&s->loss.search, -1);
		end_search(s);
	}
	if (s->snapshot->state == SNAPSHOT_TAKEN) {
		r = verdict_snapshot_each(s->snapshot, &s->recorder->ledger, &see);
		judge_tracked(s, its.tracked, its.n, &(struct judging){ r, s->snapshot->had.at_ns, true });
		if (r >= 0 && its.n)
			tell_tracked(s, &its, t);
		if (r > 0 && s->loss.at_ns)
			(void)tell_loss(s, &at_end, s->snapshot->had.at_ns, &s->snapshot->memory, t);
		if (r < 0) {
			verdict_snapshot_fini(s->snapshot);
			verdict_snapshot_fail(s->snapshot, "%s", r == -ENODATA ? UNSEEN : strerror(-r));
		}
	}
	if (s->snapshot->state == SNAPSHOT_FAILED)
		note_not_looked(s, t);
	if (r <= 0 && s->loss.latest_ns > s->loss.at_ns)
		tell_latest(s, t);
	note_unknown(s, t);
	free(its.tracked);
	loss_fini(&at_end);
}

void session_loss_close(struct session *s)
{
	awake_fini(&s->awake);
	if (s->loss.searching) {
		interim_end(&s->loss.search, -1);
		close(s->loss.found);
	}
	loss_fini(&s->loss.before);
	loss_fini(&s->loss.latest);
	loss_fini(&s->loss.then);
}
