/* SPDX-License-Identifier: MIT */
/*
 * reach_doubts: what the flood could not see of the target, or had to treat as a root because its meaning is
 * unknown.
 */
#include "heap/reach/reach.h"

#include <inttypes.h>
#include <string.h>

#include "heap/reach/shared_maps.h"
#include "heap/threadstacks.h"

static void end_sentence(struct strbuf *out, size_t *n)
{
	strbuf_putc(out, '\0');
	++*n;
}

/* "12 KiB", or MiB if there are ten or more. */
static void amount(struct strbuf *out, uint64_t bytes)
{
	if (bytes >> 20 >= 10)
		strbuf_printf(out, "%" PRIu64 " MiB", bytes >> 20);
	else
		strbuf_printf(out, "%" PRIu64 " KiB", (bytes + 1023) >> 10);
}

static void doubt_census(const struct census *c, struct strbuf *out, size_t *n)
{
	if (!c || !c->known) {
		strbuf_puts(out, "the allocator's heap cannot be read");
		if (c && *c->problem.what)
			strbuf_printf(out, " (%s)", c->problem.what);
		strbuf_puts(out, ": all memory that is no watched block counts as a root: what is reported "
				 "as lost is lost, and more may be");
		end_sentence(out, n);
	} else if (c->nproblems) {
		strbuf_printf(out,
			      "the heap could not be walked to its end (at " PRItaddr
			      ": %s): what is free in it is not known, and counts as a root",
			      c->problem.at, c->problem.what);
		end_sentence(out, n);
	} else if (!census_adds_up(c)) {
		strbuf_puts(out, "the allocator's own figures and what was found differ: some of what is "
				 "called a block may be none, and there may be others");
		end_sentence(out, n);
	}
	if (c && c->known && c->others) {
		amount(out, c->others_bytes);
		strbuf_printf(out,
			      " belong to %zu other malloc%s of the C library (dlmopen): all of that counts "
			      "as a root, so less is found to be lost than is",
			      c->others, c->others == 1 ? "" : "s");
		end_sentence(out, n);
	}
}

static void doubt_missing(const struct snapshot *s, struct strbuf *out, size_t *n)
{
	if (s->swapped) {
		amount(out, s->swapped);
		strbuf_puts(out, " of memory were swapped out and not read: what only a pointer there holds "
				 "is taken for lost");
		end_sentence(out, n);
	}
	if (s->missing) {
		amount(out, s->missing);
		strbuf_puts(
			out,
			" of memory could not be read: what only a pointer there holds is taken for lost");
		end_sentence(out, n);
	}
}

/*
 * Shared memory has no page in the process's page table if it was mapped and never used, if the page was
 * removed since, or if the mapping was inherited by fork.
 */
static void doubt_shared(const struct snapshot *s, struct strbuf *out, size_t *n)
{
	const uint64_t unseen = shared_maps_unseen(s);

	if (s->left_out) {
		amount(out, s->left_out);
		strbuf_puts(out, " of shared memory were not copied, because it would have taken too long: "
				 "what only a pointer there holds is taken for lost");
		end_sentence(out, n);
	}
	if (unseen <= s->left_out)
		return;
	amount(out, unseen - s->left_out);
	strbuf_puts(out, s->live ? " of shared memory have no page in this process, not used yet or taken "
				   "away since, and were not looked at"
				 : " of shared memory are not in the core file");
	strbuf_puts(out, ": what only a pointer there holds is taken for lost");
	end_sentence(out, n);
}

static void doubt_stacks(const struct snapshot *s, struct strbuf *out, size_t *n)
{
	struct threadstacks st;

	if (!s->nthreads) {
		strbuf_puts(out, "no thread is known: no registers were looked at, and stacks count as roots "
				 "from end to end");
		end_sentence(out, n);
		return;
	}
	if (threadstacks_find(&st, s) < 0)
		return;
	if (st.unknown) {
		strbuf_printf(out,
			      "of %zu thread%s the registers are not known, or it went on while its memory "
			      "was copied: what only they hold is "
			      "taken for lost, and their stacks count as roots from end to end",
			      st.unknown, st.unknown == 1 ? "" : "s");
		end_sentence(out, n);
	}
	if (st.elsewhere) {
		strbuf_printf(out,
			      "%zu thread%s on memory that is not known to be a stack: all of it counts as a "
			      "root, with what calls have left there",
			      st.elsewhere, st.elsewhere == 1 ? " runs" : "s run");
		end_sentence(out, n);
	}
	if (st.main_ended) {
		strbuf_puts(out, "there is no main thread any more: its stack counts as a root from end "
				 "to end, with what calls have left there");
		end_sentence(out, n);
	}
	if (st.unsure) {
		strbuf_puts(out, "the C library's lists of stacks could not be read: stacks of threads that "
				 "have ended count as roots");
		end_sentence(out, n);
	}
	threadstacks_fini(&st);
}

static void doubt_headers(const struct reach *r, struct strbuf *out, size_t *n)
{
	for (unsigned i = 0; i < r->nheaders; i++) {
		strbuf_printf(out,
			      "nothing points to the beginning of %" PRIu64 " blocks, but something to %" PRIu32
			      " bytes behind it in each: the program seems to put a header there, so they count "
			      "as pointed to",
			      r->headers[i].blocks, r->headers[i].distance);
		end_sentence(out, n);
	}
}

bool reach_may_take_for_lost(const struct reach_input *in)
{
	const struct snapshot *s = in->snapshot;
	struct threadstacks st;
	bool unknown;

	if (s->swapped || s->missing || s->left_out || !s->nthreads ||
	    (in->census && in->census->known && !census_adds_up(in->census)) || threadstacks_find(&st, s) < 0)
		return true;
	unknown = st.unknown;
	threadstacks_fini(&st);
	return unknown;
}

size_t reach_doubts(const struct reach_input *in, const struct reach *r, struct strbuf *out)
{
	size_t n = 0;

	doubt_census(in->census, out, &n);
	doubt_missing(in->snapshot, out, &n);
	doubt_shared(in->snapshot, out, &n);
	doubt_stacks(in->snapshot, out, &n);
	doubt_headers(r, out, &n);
	return n;
}
