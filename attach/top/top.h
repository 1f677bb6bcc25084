/* SPDX-License-Identifier: MIT */
/*
 * top: what the live view shows, independent of the terminal: a row for each stack with allocations, in the
 * order that was asked for, as far as the filter lets them through; which row is chosen, and which is open.
 * Made from the ledger again and again; the calls of the time before are kept, for calls per second.
 *
 *	blocks		live bytes, as they are
 *	objects		references acquired there on objects that still exist; a number, no bytes
 *	sampled run	what is estimated to stay live, and calls as estimated; if it is not known whether the
 *			blocks stay live, those still live count as if they did
 *
 * With a mark, numbers are those since the mark.
 */
#ifndef MM_TOP_H
#define MM_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"
#include "report/model/growth.h"
#include "report/query/select.h"

#define TOP_POINTS (MMT_SERIES_POINTS + 1)

enum top_order { TOP_BYTES, TOP_GROWTH, TOP_RATE, TOP_CALLS };

struct top_row {
	uint32_t family, stack;		/* indices */
	bool plain;			/* `bytes` are references, no bytes */
	bool estimated;			/* of a sampled run; */
	bool uncertain;			/* and it is not known yet whether any of it stays live */
	uint64_t bytes, calls;
	double calls_per_second;
	struct growth growth;
	int64_t more_bytes;		/* since the mark; without one, since the beginning */
	uint64_t more_calls;
};

/* What is kept of a stack from one time to the next. */
struct top_seen {
	uint64_t calls;
	double calls_per_second;
	uint64_t marked_bytes, marked_calls;
};

struct top {
	enum top_order order;
	struct top_row *rows;
	size_t n, room;
	size_t all;			/* rows without the filter */
	size_t chosen;			/* which row; it stays the row of its stack when the order changes */
	bool has_open;			/* the stack below is shown under its row */
	uint32_t open_family, open_stack;
	bool marked;
	uint64_t mark_us;
	struct select *filter;		/* NULL: none */
	char filter_text[128];
	struct top_seen *seen[LEDGER_FAMILIES_MAX];
	size_t nseen[LEDGER_FAMILIES_MAX];
	uint64_t at_us;			/* of the last look */
	uint64_t events;
	double events_per_second;
	struct growth growth;		/* of all live bytes; not of a sampled run */
};

void top_init(struct top *t);
void top_fini(struct top *t);

/* From what the ledger has now. With a filter all frames must have their names. 0 or -ENOMEM. */
must_check int top_refresh(struct top *t, struct ledger *l);

void top_sort(struct top *t, enum top_order order);
void top_choose(struct top *t, long by);	/* another row, so many rows further */
void top_open(struct top *t);			/* the stack of the chosen row; again: close it */
bool top_is_open(const struct top *t, const struct top_row *row);

/* Numbers since now; again: since the beginning. top_refresh shows it. */
void top_mark(struct top *t, const struct ledger *l);

/*
 * Only stacks with a frame that matches @regex, as --focus does; "": all. top_refresh shows it. 0; -EINVAL, with the
 * reason in @why, and the filter stays as it was; -ENOMEM.
 */
must_check int top_filter(struct top *t, const char *regex, char *why, size_t why_size);

/* Live bytes over time, the last one now. Returns how many; 0: not known. */
size_t top_course(struct ledger *l, const struct top_row *row, struct growth_point points[TOP_POINTS]);

#endif
