/* SPDX-License-Identifier: MIT */
#include "attach/watch/session_probes.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "attach/events/recorder.h"
#include "attach/events/tally.h"
#include "attach/loss/loss_probes.h"
#include "attach/options/options.h"
#include "attach/sampling/sampling.h"
#include "attach/watch/session.h"
#include "base/duration.h"
#include "base/log.h"

uint64_t session_probes_turn(struct session *s, uint64_t now_ns, bool *copy)
{
	const uint64_t next_ns = loss_probes_turn(s->probes, now_ns);

	*copy = loss_probes_wants_copy(s->probes);
	if (next_ns == UINT64_MAX && loss_probes_are_over(s->probes) && s->probing) {
		s->probing = false;
		(void)!session_share_set(s, false);
	}
	loss_probes_copy_costs(s->probes, s->share.pause_ns);
	sampling_probed(s->sampling, loss_probes_are_there(s->probes), now_ns);
	return next_ns;
}

void session_probes_copied(struct session *s, bool made)
{
	if (made)
		loss_probes_copied(s->probes);
	else
		loss_probes_not_copied(s->probes);
}

void session_probes_meanwhile(struct session *s)
{
	if (s->probes)
		loss_probes_meanwhile(s->probes);
}

void session_probes_found(struct session *s, const struct loss_copied *copy)
{
	if (!copy)
		loss_probes_not_copied(s->probes);
	else
		s->tally->out_of_memory |= loss_probes_found(s->probes, copy) < 0;
}

int session_probes_each(const struct session *s, int (*see)(void *ctx, taddr addr, uint64_t size), void *ctx)
{
	return s->probes ? loss_blocks_each(loss_probes_blocks(s->probes), see, ctx) : 0;
}

/* Why they are not to be had; NULL: nothing is known that bars them. */
static const char *bars(const struct session *s)
{
	if (s->opt->engine_given && s->opt->engine == ENGINE_PTRACE)
		return "--engine ptrace was asked for";
	if (s->at.target.shadow_stack)
		return "the process has a shadow stack";
	return s->at.under_gdb ? "gdb is the tracer" : NULL;
}

bool session_probes_begin(struct session *s, const uint64_t *sizes, size_t n)
{
	const struct loss_probes_of of = {
		.pid = s->at.target.pid, .keeper = &s->at.link, .planting = s->planting, .backtrace = s->backtrace,
		.ppm = session_share_of_probes(s),
	};
	const char *barred = bars(s);
	char why[256] = "";
	int r;

	if (s->probes || !n)
		return false;
	r = barred ? -ENOTSUP : loss_probes_open(&of, sizes, n, &s->probes, why, sizeof(why));
	if (r < 0) {
		log_verbose("the kernel's probes do not look for the code that loses blocks: %s",
			    barred ? barred : *why ? why : strerror(-r));
		return false;
	}
	s->probing = true;
	r = session_share_set(s, true);
	if (r < 0) {
		log_verbose("no probes, as the keeper does not answer: %s", strerror(-r));
		loss_probes_stop(s->probes);
		s->probing = false;
		(void)!session_share_set(s, false);
	}
	return r == 0;
}

void session_probes_stop(struct session *s)
{
	if (s->probes)
		loss_probes_stop(s->probes);
}

static void note_windows(struct session *s, uint64_t seen, uint64_t lost, uint64_t time_us)
{
	char text[DURATION_TEXT];
	uint64_t ns;
	unsigned n;

	loss_probes_windows(s->probes, &n, &ns);
	duration_format(ns, text, sizeof(text));
	if (n)
		recorder_note(s->recorder, time_us,
			      "the kernel's probes were in the allocator for %s in all (%u times): they saw %" PRIu64
			      " blocks of the sizes that are lost, of which %" PRIu64 " are lost",
			      text, n, seen, lost);
}

void session_probes_end(struct session *s, const struct session_probes_loss *lost, uint64_t time_us)
{
	const struct loss_copied copy = { .at_ns = lost->at_ns, .lost = lost->all, .marks = lost->marks };
	struct loss_blocks *b = s->probes ? loss_probes_blocks(s->probes) : NULL;
	uint64_t nseen = 0, nlost = 0;
	int r;

	if (!b)
		return;
	/* the last window lasted until the copy, in which these were lost */
	r = lost->found ? 0 : loss_blocks_find_last(b, &copy);
	if (lost->found)
		loss_blocks_found_last(b);
	if (r == 0)
		r = loss_blocks_sum(b, lost->since);
	for (size_t i = 0; r == 0 && i < b->n; i++) {
		struct loss_stack *stack = &b->stacks[i];

		nseen += stack->its.seen;
		nlost += stack->its.lost;
		stack->its.over_us = lost->since_us;
		r = sampling_losing(s->sampling, stack->family, sampling_known_as(s->sampling, stack->number),
				    &stack->its);
	}
	s->tally->out_of_memory |= r < 0;
	note_windows(s, nseen, nlost, time_us);
}

void session_probes_close(struct session *s)
{
	loss_probes_close(s->probes);
}
