/* SPDX-License-Identifier: MIT */
/*
 * body: a linear sweep over each extent; jumps out of it are followed.
 *
 * Compilers leave no data between instructions, and padding decodes as nops, so a sweep finds every
 * instruction, also those that only an exception reaches. If there is data after all, the sweep gets out of
 * step with the code: then some jump does not arrive at the start of an instruction, and the body is
 * rejected. A single jump that cannot be followed makes it incomplete: with traps on all exits but one, calls
 * would be missed silently.
 */
#include "attach/probes/code/body.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"

#define EXTENT_MAX (256UL << 10)	/* a longer function is trapped at its return addresses instead */
#define STRAIGHT_MAX 1024u		/* more code without a branch is not looked at */
#define RESULT_MAX 64u			/* instructions in which a result must be used or overwritten */

struct scan {
	const struct elfimage *img;
	struct decoder *d;
	taddr entry;
	const taddr *stops;
	size_t nstops;
	struct body *out;
};

static int addrs_add(struct addrs *a, taddr addr)
{
	int rc = grow_for(&a->v, a->n, &a->room, sizeof(*a->v));

	if (!rc)
		a->v[a->n++] = addr;
	return rc;
}

static int compare_addrs(const void *pa, const void *pb)
{
	taddr a = *(const taddr *)pa, b = *(const taddr *)pb;

	return a < b ? -1 : a > b;
}

static void addrs_sort(struct addrs *a)
{
	if (a->n)
		qsort(a->v, a->n, sizeof(*a->v), compare_addrs);
}

static bool addrs_have(const struct addrs *a, taddr addr)
{
	return a->n && bsearch(&addr, a->v, a->n, sizeof(*a->v), compare_addrs);
}

__attribute__((format(printf, 2, 3)))
static void set_incomplete(struct body *b, const char *format, ...)
{
	va_list ap;

	if (!b->complete)
		return;
	b->complete = false;
	va_start(ap, format);
	vsnprintf(b->why, sizeof(b->why), format, ap);
	va_end(ap);
}

static bool is_stop(const struct scan *s, taddr addr)
{
	for (size_t i = 0; i < s->nstops; i++) {
		if (s->stops[i] == addr && addr != s->entry)
			return true;
	}
	return false;
}

static bool decode_at(const struct elfimage *img, struct decoder *d, taddr addr, struct insn *out)
{
	uint8_t code[16];
	size_t n = elfimage_code(img, addr, code, sizeof(code));

	return n && decode(d, code, n, addr, out) == 0;
}

/* A stub is `jmp *slot(%rip)`, with endbr64 before it where branches are tracked. */
static bool plt_slot(const struct elfimage *img, struct decoder *d, taddr addr, taddr *slot)
{
	struct insn in;

	if (!decode_at(img, d, addr, &in))
		return false;
	if (in.emu.op == EMU_NOP && in.len == 4 && !decode_at(img, d, addr + 4, &in))
		return false;
	*slot = in.slot;
	return in.flow == FLOW_JUMP && in.slot;
}

const char *body_plt_name(const struct elfimage *img, struct decoder *d, taddr addr)
{
	taddr slot;

	return plt_slot(img, d, addr, &slot) ? elfimage_slot_symbol(img, slot) : NULL;
}

/*
 * Where the file has the function @name itself, 0: it has none. tcmalloc's sized free goes on through the PLT at
 * tc_free, another name of free: without the address these are two functions. (Which module's function is called
 * is the dynamic linker's choice. Another module that has the one name has the other ones, too.)
 */
static taddr own_function(const struct elfimage *img, const char *name)
{
	uint64_t size;
	taddr addr;
	bool ifunc;

	return name && !elfimage_find(img, name, &addr, &size, &ifunc) && !ifunc ? addr : 0;
}

static int add_exit(struct scan *s, struct body_exit e)
{
	struct body *b = s->out;
	int rc = grow_for(&b->exits, b->nexits, &b->exits_room, sizeof(*b->exits));

	if (!rc)
		b->exits[b->nexits++] = e;
	return rc;
}

static int add_tail(struct scan *s, const struct insn *in, taddr target, const char *name)
{
	return add_exit(s, (struct body_exit){ .addr = in->addr, .tail = true, .target = target, .name = name,
					       .conditional = in->flow == FLOW_BRANCH });
}

static int add_call(struct scan *s, const struct insn *in)
{
	struct body *b = s->out;
	struct body_call call = { .target = in->target };
	int rc;

	if (in->slot)
		call.name = elfimage_slot_symbol(s->img, in->slot);
	else if (in->target_known)
		call.name = body_plt_name(s->img, s->d, in->target);
	if (!call.name && !in->target_known)
		return 0;
	if (call.name)
		call.target = own_function(s->img, call.name);
	rc = grow_for(&b->calls, b->ncalls, &b->calls_room, sizeof(*b->calls));
	if (!rc)
		b->calls[b->ncalls++] = call;
	return rc;
}

/*
 * The extent of the function at @entry; an FDE that begins before it (several functions in one) is not its
 * own.
 */
static bool own_extent(const struct elfimage *img, taddr entry, struct code_range *range)
{
	if (elfimage_extent(img, entry, range) && range->lo == entry)
		return true;
	return elfimage_symbol_over(img, entry, range) && range->lo == entry;
}

/*
 * Padding behind a part of the body. Compilers put the label of what cannot be reached there: in PostgreSQL's
 * palloc, whatever follows a call that never returns is in the cold part, and is a jump to there.
 */
static bool is_unreachable(const struct scan *s, taddr addr)
{
	struct code_range range;
	struct insn in;
	bool behind = false;

	for (size_t i = 0; i < s->out->nextents; i++)
		behind |= s->out->extents[i].hi == addr;
	return behind && !elfimage_symbol_over(s->img, addr, &range) && decode_at(s->img, s->d, addr, &in) &&
	       in.padding;
}

/* @in jumps out of what is known of the body to code that may be a part of it. */
static int follow(struct scan *s, const struct insn *in)
{
	struct body *b = s->out;
	struct code_range range;

	if (!elfimage_extent(s->img, in->target, &range)) {
		if (!is_unreachable(s, in->target))
			set_incomplete(b, "a jump at " PRItaddr " to code of unknown extent",
				       in->addr);
	} else if (range.lo != in->target && (elfimage_is_global(s->img, range.lo) || is_stop(s, range.lo))) {
		set_incomplete(b, "a jump at " PRItaddr " into the middle of another function", in->addr);
	} else if (b->nextents == BODY_EXTENTS) {
		set_incomplete(b, "more than %d parts", BODY_EXTENTS);
	} else {
		b->extents[b->nextents++] = range;
		return addrs_add(&b->targets, in->target);
	}
	return 0;
}

static int add_jump(struct scan *s, const struct insn *in)
{
	taddr slot = in->slot;
	const char *name;

	if (in->target_known && body_covers(s->out, in->target))
		return addrs_add(&s->out->targets, in->target);
	if (in->target_known && (elfimage_is_global(s->img, in->target) || is_stop(s, in->target)))
		return add_tail(s, in, in->target, elfimage_symbol_at(s->img, in->target));
	if (in->target_known && !plt_slot(s->img, s->d, in->target, &slot))
		return follow(s, in);
	name = slot ? elfimage_slot_symbol(s->img, slot) : NULL;
	if (name)
		return add_tail(s, in, own_function(s->img, name), name);
	set_incomplete(s->out, "a jump at " PRItaddr " whose target is not known", in->addr);
	return 0;
}

static int add_insn(struct scan *s, const struct insn *in)
{
	int rc = addrs_add(&s->out->starts, in->addr);

	if (rc)
		return rc;
	switch (in->flow) {
	case FLOW_RET:
		return add_exit(s, (struct body_exit){ .addr = in->addr });
	case FLOW_JUMP:
	case FLOW_BRANCH:
		return add_jump(s, in);
	case FLOW_CALL:
		return add_call(s, in);
	case FLOW_NEXT:
	case FLOW_STOP:
		break;
	}
	return 0;
}

static int sweep(struct scan *s, const uint8_t *code, struct code_range range)
{
	enum flow last = FLOW_NEXT;
	size_t at = 0, n = range.hi - range.lo;
	struct insn in;

	while (at < n) {
		int rc;

		if (decode(s->d, code + at, n - at, range.lo + at, &in)) {
			set_incomplete(s->out, "no instruction at " PRItaddr, range.lo + at);
			return 0;
		}
		rc = add_insn(s, &in);
		if (rc)
			return rc;
		if (!in.padding)
			last = in.flow;
		at += in.len;
	}
	/* A call at the end is one that does not return. */
	if (last == FLOW_NEXT || last == FLOW_BRANCH)
		set_incomplete(s->out, "it runs on past its end at " PRItaddr, range.hi);
	return 0;
}

static int scan_extent(struct scan *s, struct code_range range)
{
	size_t n = range.hi - range.lo;
	cleanup_free uint8_t *code = NULL;

	if (range.hi <= range.lo || n > EXTENT_MAX) {
		set_incomplete(s->out, "a part of %zu KiB", n >> 10);
		return 0;
	}
	code = malloc(n);
	if (!code)
		return -ENOMEM;
	if (elfimage_code(s->img, range.lo, code, n) != n) {
		set_incomplete(s->out, "its code at " PRItaddr " is not in the file", range.lo);
		return 0;
	}
	return sweep(s, code, range);
}

static void check_steps(struct body *b)
{
	for (size_t i = 0; b->complete && i < b->targets.n; i++) {
		if (!addrs_have(&b->starts, b->targets.v[i]))
			set_incomplete(b, "a jump into the middle of an instruction at " PRItaddr,
				       b->targets.v[i]);
	}
}

int body_scan(const struct elfimage *img, struct decoder *d, taddr entry, const taddr *stops, size_t nstops,
	      struct body *out)
{
	struct scan s = { img, d, entry, stops, nstops, out };
	int rc = 0;

	*out = (struct body){ .complete = true };
	if (own_extent(img, entry, &out->extents[0]))
		out->nextents = 1;
	else
		set_incomplete(out, "its extent is not known");
	for (size_t i = 0; !rc && i < out->nextents; i++)
		rc = scan_extent(&s, out->extents[i]);
	addrs_sort(&out->starts);
	addrs_sort(&out->targets);
	check_steps(out);
	if (rc)
		body_fini(out);
	return rc;
}

/* Decode the function around @within up to @addr; @last: the instruction before it, if there is one. */
static bool decodes_to(const struct elfimage *img, struct decoder *d, taddr within, taddr addr,
		       struct insn *last)
{
	struct code_range range;
	taddr at;

	if (!elfimage_extent(img, within, &range) || addr - range.lo > EXTENT_MAX)
		return false;
	for (at = range.lo; at < addr; at += last->len) {
		if (!decode_at(img, d, at, last))
			return false;
	}
	return at == addr;
}

bool body_has_instruction(const struct elfimage *img, struct decoder *d, taddr addr)
{
	struct insn last;

	return decodes_to(img, d, addr, addr, &last);
}

bool body_has_return(const struct elfimage *img, struct decoder *d, taddr addr)
{
	struct insn last = { .flow = FLOW_NEXT };

	return decodes_to(img, d, addr - 1, addr, &last) && last.flow == FLOW_CALL;
}

bool body_always_calls(const struct elfimage *img, struct decoder *d, taddr entry, taddr ret)
{
	struct insn last = { .flow = FLOW_NEXT };
	taddr at;

	if (ret - entry > STRAIGHT_MAX)
		return false;
	for (at = entry; at < ret; at += last.len) {
		if (!decode_at(img, d, at, &last) || (last.flow != FLOW_NEXT && last.flow != FLOW_CALL))
			return false;
	}
	return at == ret && last.flow == FLOW_CALL;
}

taddr body_always_jumps_to(const struct elfimage *img, struct decoder *d, taddr entry)
{
	struct insn in;

	for (taddr at = entry; at - entry < STRAIGHT_MAX && decode_at(img, d, at, &in); at += in.len) {
		if (in.flow == FLOW_JUMP)
			return in.target_known ? in.target : 0;
		if (in.flow != FLOW_NEXT && in.flow != FLOW_CALL)
			return 0;
	}
	return 0;
}

/* From @at on, at most @*left instructions in all. What is called does not read rax either. */
static enum body_result follow_result(const struct elfimage *img, struct decoder *d, taddr at, unsigned *left)
{
	enum body_result all = BODY_RESULT_UNUSED, one;
	struct insn in;

	for (; *left && decode_at(img, d, at, &in); at = in.flow == FLOW_JUMP ? in.target : at + in.len) {
		--*left;
		if (in.reads & 1u << EMU_RAX)
			return BODY_RESULT_USED;
		if (in.writes & 1u << EMU_RAX || in.flow == FLOW_CALL)
			return all;
		if (in.flow == FLOW_RET || in.flow == FLOW_STOP || (in.flow != FLOW_NEXT && !in.target_known))
			return BODY_RESULT_UNKNOWN;
		one = in.flow == FLOW_BRANCH ? follow_result(img, d, in.target, left) : BODY_RESULT_UNUSED;
		if (one == BODY_RESULT_USED)
			return one;
		if (one == BODY_RESULT_UNKNOWN)
			all = one;
	}
	return BODY_RESULT_UNKNOWN;
}

enum body_result body_result_at(const struct elfimage *img, struct decoder *d, taddr ret)
{
	unsigned left = RESULT_MAX;

	return follow_result(img, d, ret, &left);
}

void body_fini(struct body *b)
{
	free(b->exits);
	free(b->calls);
	free(b->starts.v);
	free(b->targets.v);
	*b = (struct body){ .nextents = 0 };
}

bool body_jumps_to(const struct body *b, taddr addr)
{
	return addrs_have(&b->targets, addr);
}

bool body_covers(const struct body *b, taddr addr)
{
	for (size_t i = 0; i < b->nextents; i++) {
		if (addr >= b->extents[i].lo && addr < b->extents[i].hi)
			return true;
	}
	return false;
}
