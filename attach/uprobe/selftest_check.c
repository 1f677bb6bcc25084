/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/selftest_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REG_RAX 10
#define REG_RSP 19

static struct selftest_seen *thread_of(struct selftest_check *c, uint32_t tid)
{
	for (unsigned i = 0; i < SELFTEST_THREADS; i++) {
		if (!c->threads[i].tid)
			c->threads[i].tid = tid;
		if (c->threads[i].tid == tid)
			return &c->threads[i];
	}
	return NULL;
}

static bool fail(struct selftest_check *c, const char *what, uint64_t number)
{
	if (!*c->wrong)
		snprintf(c->wrong, sizeof(c->wrong), "%s %" PRIu64, what, number);
	return false;
}

/* Has the slice the caller's mark, where the second argument points? */
static bool has_mark(const struct uprobe_hit *h, uint64_t number)
{
	const uint64_t at = h->args[1] - h->regs[REG_RSP], mark = selftest_mark(number);

	return h->slice_len >= sizeof(mark) && at <= h->slice_len - sizeof(mark) &&
	       !memcmp(h->slice + at, &mark, sizeof(mark));
}

static bool check_exit(struct selftest_check *c, struct selftest_seen *t, const struct uprobe_hit *h)
{
	const uint64_t number = t->last + 1;

	if (!t->open || h->args[0] != number || h->regs[REG_RAX] != number)
		return fail(c, "there is no record, or a wrong one, of the end of call", number);
	if (h->outer != SELFTEST_OPENS || !has_mark(h, number))
		return fail(c, "the stack is not that of call", number);
	t->open = false;
	t->last = number;
	return true;
}

static bool check_brief(struct selftest_check *c, struct selftest_seen *t, const struct uprobe_brief *b)
{
	const uint64_t number = t->last + 1;

	if (t->open || b->args[0] != number)
		return fail(c, "there is no record, or a wrong one, of call", number);
	if (b->head.site == SELFTEST_OPENS)
		t->open = true;
	else
		t->last = number;
	return true;
}

bool selftest_check_record(struct selftest_check *c, const struct uprobe_head *h, size_t n)
{
	struct selftest_seen *t = thread_of(c, h->tid);
	const bool brief = h->kind == UPROBE_HIT_BRIEF && n >= sizeof(struct uprobe_brief) &&
			   h->site == (h->flags & UPROBE_AT_ENTRY ? SELFTEST_OPENS : SELFTEST_BRIEF);
	const bool whole = h->kind == UPROBE_HIT && n >= sizeof(struct uprobe_hit) &&
			   h->site == (c->returns ? SELFTEST_OPENS : SELFTEST_EXIT);

	if (*c->wrong)
		return false;
	if (!t || !(brief || whole))
		return fail(c, "there is a record of no call, of thread", h->tid);
	return brief ? check_brief(c, t, (const struct uprobe_brief *)h) : check_exit(c, t, (const struct uprobe_hit *)h);
}

uint64_t selftest_check_calls(const struct selftest_check *c)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < SELFTEST_THREADS; i++)
		n += c->threads[i].last;
	return n;
}

bool selftest_check_all(struct selftest_check *c, uint32_t tid, uint64_t made)
{
	const struct selftest_seen *t = made ? thread_of(c, tid) : NULL;

	if (!made || (t && t->last == made && !t->open))
		return true;
	return fail(c, "the last records are missing, of call", t ? t->last + 1 : 1);
}
