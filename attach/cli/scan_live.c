/* SPDX-License-Identifier: MIT */
#include "attach/cli/scan_live.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "attach/keeper/procfs.h"
#include "attach/options/options.h"
#include "attach/scan/scan_allocator.h"
#include "attach/snapshot/pause.h"
#include "attach/target/diagnose.h"
#include "attach/target/modules.h"
#include "attach/target/unread.h"
#include "attach/watch/attached.h"
#include "base/duration.h"
#include "base/log.h"
#include "heap/census_take.h"
#include "heap/reach/loaderblocks.h"
#include "heap/snapshot/backing.h"
#include "report/model/scan.h"

static uint64_t max_pause(const struct options *opt)
{
	return opt->max_pause_ns ? opt->max_pause_ns : SCAN_MAX_PAUSE_NS;
}

/* --- why not --- */

static void say_too_long(const struct attached *a, const struct pause_had *had)
{
	char expected[DURATION_TEXT], most[DURATION_TEXT];

	log_error("cannot scan %d (%s): it would be stopped for about %s, longer than %s", a->target.pid,
		  a->target.comm, duration_format(had->expected_ns, expected, sizeof(expected)),
		  duration_format(max_pause(a->opt), most, sizeof(most)));
	log_hint("--max-pause %llus allows it; gcore(1), to scan a core file, stops it for longer",
		 (unsigned long long)(had->expected_ns / 500000000 + 1));
}

static void say_no_room(const struct attached *a, const struct memory_limit *room)
{
	char text[MEMORY_LIMIT_TEXT];

	log_error("cannot scan %d (%s): a copy of its memory %s", a->target.pid, a->target.comm,
		  memory_limit_text(room, text));
	log_hint("a core file, made by gcore(1), can be scanned on another machine: mmattach scan --core FILE");
}

static void say_not_copied(const struct attached *a, int err, const struct pause_had *had)
{
	struct diagnosis d;

	if (err == -ETIME) {
		say_too_long(a, had);
	} else if (err == -ENOMEM && had->room.needed > had->room.available) {
		say_no_room(a, &had->room);
	} else if (err == -ESRCH) {
		diagnose_vanished(&a->target, procfs_living_thread(a->target.pid) != 0, &d);
		diagnose_log(&d);
	} else if (err == -ETIMEDOUT) {
		log_error("cannot scan %d (%s): the copy took too long and was given up", a->target.pid,
			  a->target.comm);
		log_hint("a longer --max-pause allows more time");
	} else if (err == -EAGAIN) {
		log_error("cannot scan %d (%s): its memory grew faster than it could be copied",
			  a->target.pid, a->target.comm);
	} else {
		log_error_errno(err, "cannot scan %d (%s)", a->target.pid, a->target.comm);
	}
}

/* The pause is reported even if the copy failed. */
static void log_stopped_time(const struct attached *a, const struct pause_had *had)
{
	char text[DURATION_TEXT];

	if (had->had_ns)
		log_hint("%d (%s) was stopped for %s", a->target.pid, a->target.comm,
			 duration_format(had->had_ns, text, sizeof(text)));
}

/* --- one pause --- */

static int copy(const struct scan_live *sc, struct attached *a, struct pause_had *had)
{
	const struct pause_wish wish = { .max_pause_ns = max_pause(sc->opt) };
	int r = pause_and_copy(&a->link, a->target.pid, &wish, sc->snapshot, had);

	if (r < 0) {
		say_not_copied(a, r, had);
		log_stopped_time(a, had);
	}
	return r;
}

/* What is still needed after the process was released. */
static void take_over(const struct scan_live *sc, struct attached *a)
{
	modules_free(*sc->modules);
	*sc->modules = a->modules;
	a->modules = NULL;
	target_fini(sc->target);
	*sc->target = a->target;
	a->target = (struct target_info){ 0 };
}

static int look_once(const struct scan_live *sc, int argc, char **argv, struct pause_had *had)
{
	struct attached a = ATTACHED_INIT;
	int r;

	a.opt = sc->opt;
	r = attached_look(&a, argc, argv);
	if (r == 0)
		r = copy(sc, &a, had);
	if (a.linked)
		attached_undo(&a);
	if (r == 0)
		take_over(sc, &a);
	attached_close(&a);
	return r;
}

static int count(const struct scan_live *sc)
{
	int r = backing_add(sc->snapshot, modules_open_file, *sc->modules, sc->backing);

	if (r == 0)
		r = census_take(sc->snapshot, sc->census);
	if (r == 0)
		r = loaderblocks_set_apart(sc->snapshot, sc->census);
	if (r < 0)
		log_error_errno(r, "cannot list the blocks of %d", sc->target->pid);
	return r;
}

/* --- all --- */

/* One whose blocks are not listed, instead of those that are, or beside them. */
static void find_allocator(const struct scan_live *sc)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;

	if (scan_allocator_of_process(*sc->modules, sc->census, &name))
		sc->report->heap.other = summary_string(&sc->report->summary, strbuf_str(&name));
}

static void note(void *ctx, const char *sentence)
{
	summary_note(ctx, "%s", sentence);
}

static void note_pause(const struct scan_live *sc, const struct pause_had *had, uint32_t pauses)
{
	struct summary_verdicts *v = &sc->report->summary.run.verdicts;

	v->expected_s = (double)had->expected_ns / 1e9;
	v->pause_s = (double)had->had_ns / 1e9;
	v->threads = had->threads;
	v->not_stopped = had->not_stopped;
	sc->report->pauses = pauses;
	sc->report->summary.run.stopped_seconds += v->pause_s;
}

static void describe(const struct scan_live *sc)
{
	struct summary *s = &sc->report->summary;

	summary_set_target(s, sc->target->pid, sc->target->comm, sc->target->exe);
	for (size_t i = 0; i < sc->target->argc; i++)
		summary_add_arg(s, sc->target->argv[i]);
	s->run.frontend = "ptrace";
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Another pause like the last one, added to all before it, would still be within --max-pause. */
static bool may_pause_again(const struct scan_live *sc, const struct pause_had *had)
{
	const double longer = (double)(had->had_ns > had->expected_ns ? had->had_ns : had->expected_ns);

	return sc->report->summary.run.stopped_seconds + longer / 1e9 <= (double)max_pause(sc->opt) / 1e9;
}

static void log_doubt(const struct census *c)
{
	const struct census_problem *p = *c->doubt.what ? &c->doubt : &c->problem;

	log_verbose("the sums of the heap do not add up (" PRItaddr ": %s): another pause", p->at, p->what);
}

int scan_live(const struct scan_live *sc, int argc, char **argv)
{
	int r;

	for (uint32_t pauses = 1;; pauses++) {
		struct pause_had had = { 0 };

		sc->report->summary.run.start_ns = now_ns();
		r = look_once(sc, argc, argv, &had);
		if (r < 0)
			return r;
		note_pause(sc, &had, pauses);
		r = count(sc);
		if (r < 0 || !sc->census->known || census_adds_up(sc->census) || pauses == SCAN_PAUSES ||
		    !may_pause_again(sc, &had))
			break;
		log_doubt(sc->census);
		/* so that a thread that was within the allocator gets a processor, and goes on */
		usleep(SCAN_GO_ON_US * pauses);
		census_fini(sc->census);
		backing_fini(sc->backing);
		snapshot_fini(sc->snapshot);
	}
	describe(sc);
	find_allocator(sc);
	return r < 0 ? r : unread_tell(*sc->modules, note, &sc->report->summary);
}
