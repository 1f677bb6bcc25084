/* SPDX-License-Identifier: MIT */
#include "attach/watch/recount.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/control/planting.h"
#include "attach/events/recorder.h"
#include "report/ledger/objects.h"

#define COUNT_MAX (1u << 24)	/* more references than any object has */

/* Where the count is, relative to the object's beginning. */
struct field {
	int32_t disp;
	uint8_t width;
};

struct counted {
	taddr addr;
	uint64_t count;
};

static bool field_of(const struct rule *r, struct field *f)
{
	const struct expr_load *load;
	uint8_t base = EXPR_BASE_RET;

	if (!rule_is_ref(r) || !expr_is_load(&r->count))
		return false;
	load = &r->loads.all[r->count.nodes[0].n];
	if (!expr_is_ret(&r->ptr))
		base = expr_is_arg(&r->ptr, r->ptr.nodes[0].n) ? EXPR_BASE_NONE + r->ptr.nodes[0].n
							       : EXPR_BASE_NONE;
	*f = (struct field){ load->disp, load->width };
	return base && load->base == base && !load->index && load->width;
}

static bool find_field(const struct planting *p, uint32_t family, struct field *f)
{
	for (size_t i = 0; i < p->nrules; i++)
		if (p->rules[i].family == family && field_of(&p->rules[i], f))
			return true;
	return false;
}

/* @count: 0 if there is no object any more. */
static int read_count(int mem, taddr addr, const struct field *f, uint64_t *count)
{
	ssize_t n;

	*count = 0;
	n = pread(mem, count, f->width, (off_t)(addr + f->disp));
	if (n == 0)
		return -ESRCH; /* the memory itself is gone */
	/* EIO: not mapped; EINVAL: no address at all */
	if (n < 0 && errno != EIO && errno != EINVAL)
		return -errno;
	if (n != f->width || *count > COUNT_MAX)
		*count = 0;
	return 0;
}

/* Find the objects whose count differs from ours: how many, or -errno. */
static ssize_t find_changed(const struct objects *os, int mem, const struct field *f, struct counted *out)
{
	const struct object *o;
	ssize_t n = 0;
	taddr addr;
	int r = 0;

	for (size_t at = 0; r == 0 && objects_next(os, &at, &addr, &o);) {
		uint64_t count;

		r = read_count(mem, addr, f, &count);
		if (r == 0 && (int64_t)count != o->net)
			out[n++] = (struct counted){ addr, count };
	}
	return r < 0 ? r : n;
}

static int recount_family(struct recorder *r, uint32_t family, int mem, const struct field *f,
			  uint64_t time_us)
{
	const struct objects *os = r->ledger.books[family].objects;
	cleanup_free struct counted *changed = calloc(objects_count(os) + 1, sizeof(*changed));
	ssize_t n = changed ? find_changed(os, mem, f, changed) : -ENOMEM;

	for (ssize_t i = 0; i < n; i++) {
		const struct fact fact = {
			.kind = MMT_COUNTED, .time_us = time_us,
			.ref = { .addr = changed[i].addr, .count = changed[i].count },
		};

		recorder_put_event(r, family, &fact);
	}
	return n < 0 ? n : 0;
}

int recount(struct recorder *r, const struct planting *p, uint64_t time_us)
{
	struct field f;
	int err = 0;

	for (uint32_t i = 0; i < r->ledger.nbooks && err == 0; i++)
		if (find_field(p, i, &f))
			err = recount_family(r, i, p->mem, &f, time_us);
	return err;
}
