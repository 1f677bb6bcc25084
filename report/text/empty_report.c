/* SPDX-License-Identifier: MIT */
/* empty_report: see empty_report.h. Only the first reason that holds is given. */
#include "report/text/empty_report.h"

#include <stdbool.h>

#include "report/model/format_text.h"
#include "report/model/target_ended.h"
#include "report/model/text_parts.h"
#include "report/model/unseen_allocs.h"
#include "report/text/text_memory.h"

#define SHORT_SECONDS 30
#define IDLE 0.05		/* of a processor: a process that used less may have done nothing */
#define MUCH_HEAP (16u << 20)	/* of malloc's: worth a look though all was freed */

static bool any_watched(const struct summary_run *run)
{
	for (size_t i = 0; i < run->nprobes; i++)
		if (run->probes[i].module && !run->probes[i].note)
			return true;
	return run->nprobes == 0;
}

/* Sums over all families. */
struct sums {
	bool blocks, refs;		/* there are such families */
	bool memory;			/* of blocks, not only of descriptors and the like */
	uint64_t taken, dropped, kept;
};

static struct sums add_up(const struct summary *s)
{
	struct sums sums = { .blocks = !s->nfamilies, .memory = !s->nfamilies, .taken = s->totals.allocs,
			     .dropped = s->totals.frees + s->totals.unmatched_frees, .kept = s->totals.live_blocks };

	for (size_t i = 0; i < s->nfamilies; i++) {
		const struct summary_family *f = &s->families[i];

		*(f->refs ? &sums.refs : &sums.blocks) = true;
		sums.memory |= !text_family_is_plain(f);
		if (!f->refs)
			continue;
		sums.taken += f->acquired;
		sums.dropped += f->released;
		sums.kept += f->live;
	}
	return sums;
}

/* Was only growth of memory watched? Then that there was none is an answer. */
static bool only_ranges(const struct summary *s)
{
	for (size_t i = 0; i < s->nfamilies; i++)
		if (!s->families[i].ranges)
			return false;
	return s->nfamilies && any_watched(&s->run);
}

static void put_not_grown(struct strbuf *sb, const struct summary *s, const struct sums *sums)
{
	if (s->run.left_out)
		strbuf_puts(sb, sums->taken ? "All memory that the selected threads or modules allocated "
					      "was returned to the kernel.\n"
					    : "All memory that the process allocated was allocated "
					      "by other threads or modules than those selected.\n");
	else if (sums->taken)
		strbuf_puts(sb, "All memory that it allocated in the watch was returned to the kernel.\n");
	else
		strbuf_puts(sb, "The functions below allocated no memory in the watch: "
			    "what the program needed fitted into what it had,\n"
			    "or it goes another way (musl's malloc does).\n");
}

/* A process that serves from pools of its own, for example. */
static void put_busy(struct strbuf *sb, const struct summary *s)
{
	strbuf_puts(sb, "None of the watched functions was called, though the process used ");
	format_percent(sb, summary_busy(s), 1);
	strbuf_puts(sb, " of a processor:\nit works in memory that it has, or allocates in another way. ");
	if (target_ended(s))
		strbuf_puts(sb, "`mmattach probes -p PID` shows what\nis found in it, and --probe names other functions.\n");
	else
		strbuf_printf(sb, "`mmattach probes -p %d` shows what\nis found in it, and --probe names other functions; "
				  "`mmattach scan -p %d` shows what it has.\n", (int)s->target.pid, (int)s->target.pid);
}

/* Whether they were called is not known. */
static void put_unwatched(struct strbuf *sb, const struct summary *s, const struct sums *sums)
{
	strbuf_puts(sb, sums->taken ? "Everything that was seen to be allocated was freed, but not all may have been seen: "
				    : "If anything was allocated, it was not seen: ");
	unseen_allocs_put(sb, &s->run);
	strbuf_puts(sb, " could not be watched.\nThe reasons are at the end of this report; a longer watch does not help, "
		    "another --engine may.\n");
}

static void put_unseen(struct strbuf *sb, const struct summary *s, const struct sums *sums)
{
	if (!any_watched(&s->run))
		strbuf_puts(sb, "None of the functions below could be watched, so nothing was seen. If the "
				"process has another allocator,\n"
				"name its functions with --probe; `mmattach probes -p PID` shows what is "
				"found in a process.\n");
	else if (unseen_allocs_any(&s->run))
		put_unwatched(sb, s, sums);
	else if (sums->dropped && sums->blocks)
		strbuf_puts(sb, "Blocks were freed, but none was allocated in the watch: "
				"watch for longer (-d).\n");
	else if (sums->dropped)
		strbuf_puts(sb, "References were released, but none was acquired in the watch: "
				"watch for longer (-d).\n");
	else if (text_memory_children_grow(s))
		strbuf_puts(sb, "None of the watched functions was called in this process itself: its children "
				"do the work.\n");
	else if (sums->memory && summary_busy(s) >= IDLE)
		put_busy(sb, s);
	else if (sums->blocks)
		strbuf_puts(sb, "None of the watched functions was called. Either the process did nothing, "
				"or it allocates in another\n"
				"way: `mmattach probes -p PID` shows what is found in it, and --probe names "
				"other functions.\n");
	else
		strbuf_puts(sb, "None of the watched functions was called. "
				"Either the process did nothing, or it acquires references in\n"
				"another way: `mmattach probes -p PID` shows what is found in it, and "
				"--probe names other functions.\n");
}

/* What was allocated before, and what an allocator keeps of what was freed. */
static void put_heap(struct strbuf *sb, const struct summary *s, const struct sums *sums)
{
	const struct summary_memory *m = summary_memory_of_target(s);
	const uint64_t heap = m ? m->points[m->npoints - 1].heap : 0;

	if (heap < MUCH_HEAP || !sums->memory || target_ended(s))
		return;
	strbuf_puts(sb, "malloc's heap has ");
	format_size(sb, heap);
	strbuf_printf(sb, ", though: `mmattach scan -p %d` shows how much of it is in use, and by what.\n",
		      (int)s->target.pid);
}

static void put_clean(struct strbuf *sb, const struct summary *s, const struct sums *sums)
{
	if (!sums->refs)
		strbuf_puts(sb, "Everything that was allocated in the watch was freed.\n");
	else if (!sums->blocks)
		strbuf_puts(sb, "All references that were acquired in the watch were released.\n");
	else
		strbuf_puts(sb, "Everything that was allocated in the watch was freed, "
				"and all references were released.\n");
	put_heap(sb, s, sums);
	if (s->run.seconds > 0 && s->run.seconds < SHORT_SECONDS) {
		format_seconds(sb, s->run.seconds);
		strbuf_puts(sb, " is not long, though: a slow leak shows only in a longer watch (-d 10m).\n");
	}
}

/* Of a sample by bytes, in which nothing is live. */
static void put_none_in_sample(struct strbuf *sb, const struct sums *sums)
{
	if (sums->taken)
		strbuf_puts(sb, "All blocks that were in the sample were freed.\n");
	else
		strbuf_puts(sb, "No block that was allocated in the watch is in the sample: either the process allocated little, "
				"or it does so\nin another way: `mmattach probes -p PID` shows what is found in it. A smaller "
				"--sample sees more.\n");
}

static void put_none_sampled(struct strbuf *sb)
{
	strbuf_puts(sb, "No allocation was seen. Either the process did nothing, "
		    "or it allocates where no call can be found in its code:\n"
		    "without --budget the allocator itself is watched, and every call is seen.\n");
}

static bool any_hidden(const struct summary_hidden *h)
{
	return h->groups || h->ref_groups;
}

static void put_hidden(struct strbuf *sb, const struct summary *s)
{
	const bool filtered = any_hidden(&s->filtered);

	strbuf_puts(sb, "All that is still live is hidden by ");
	strbuf_puts(sb, any_hidden(&s->suppressed) ? "suppressions" : "");
	strbuf_puts(sb, any_hidden(&s->suppressed) && filtered ? " and by " : "");
	if (filtered)
		strbuf_text(sb, s->filters ? s->filters : "options");
	strbuf_puts(sb, ": see the end of this report.\n");
}

/* Blocks that are too young for --older-than are in no group, and are not hidden. */
static void put_too_young(struct strbuf *sb, const struct summary *s)
{
	strbuf_puts(sb, "Nothing that is still live is shown, by ");
	strbuf_text(sb, s->filters);
	strbuf_puts(sb, ".\n");
}

static bool all_absent(const struct summary *s)
{
	for (size_t i = 0; i < s->nprocesses; i++)
		if (!s->processes[i].its.absent)
			return false;
	return summary_is_merged(s);
}

void empty_report_put(struct strbuf *sb, const struct summary *s)
{
	const struct sums sums = add_up(s);

	if (all_absent(s))
		strbuf_puts(sb, "There is no trace of any process: the lines below say why.\n");
	else if (any_hidden(&s->suppressed) || any_hidden(&s->filtered))
		put_hidden(sb, s);
	else if (!sums.kept && only_ranges(s))
		put_not_grown(sb, s, &sums);
	else if (summary_is_sampled(&s->run))
		put_none_sampled(sb);
	else if (s->run.sample_bytes && !sums.kept && any_watched(&s->run))
		put_none_in_sample(sb, &sums);
	else if (!sums.taken)
		put_unseen(sb, s, &sums);
	else if (!sums.kept && unseen_allocs_any(&s->run))
		put_unwatched(sb, s, &sums);
	else if (!sums.kept)
		put_clean(sb, s, &sums);
	else if (s->filters)
		put_too_young(sb, s);
}
