/* SPDX-License-Identifier: MIT */
/* rules: see rules.h. */
#include "attach/stacks/unwind/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "attach/stacks/unwind/cfi.h"
#include "attach/stacks/unwind/nocfi.h"
#include "attach/stacks/unwind/unwind.h"
#include "attach/target/modules.h"
#include "base/log.h"

#define SLOTS_FIRST_LOG2 12
#define SLOTS_MAX_LOG2 21	/* 32 MiB: a million program counters; then all is forgotten */
#define FULL_MAX 16384		/* whole rules cached, half a kilobyte each */

static taddr pc_of(uint64_t frame)
{
	return frame & ~UNWIND_EXACT;
}

static int make_table(struct rules *r, unsigned log2)
{
	struct fast_rule *table = calloc((size_t)1 << log2, sizeof(*table));

	if (!table)
		return -ENOMEM;
	r->table = table;
	r->mask = ((size_t)1 << log2) - 1;
	r->shift = 64 - log2;
	r->count = 0;
	return 0;
}

int rules_init(struct rules *r, struct modules *ms)
{
	*r = (struct rules){ .ms = ms };
	addrmap_init(&r->full, sizeof(struct cfi_rule *));
	addrmap_init(&r->files, sizeof(struct cfi *));
	jitcode_init(&r->jit);
	if (getrandom(&r->factor, sizeof(r->factor), GRND_NONBLOCK) != sizeof(r->factor))
		r->factor = 0x9e3779b97f4a7c15;
	r->factor |= 1ull << 63 | 1;
	return make_table(r, SLOTS_FIRST_LOG2);
}

static void forget_full(struct rules *r)
{
	void *value;

	for (size_t i = 0; addrmap_next(&r->full, &i, &(uint64_t){ 0 }, &value); )
		free(*(struct cfi_rule **)value);
	addrmap_clear(&r->full);
}

static void forget_files(struct rules *r)
{
	void *value;

	for (size_t i = 0; addrmap_next(&r->files, &i, &(uint64_t){ 0 }, &value); )
		cfi_free(*(struct cfi **)value);
	addrmap_clear(&r->files);
}

void rules_forget(struct rules *r)
{
	forget_full(r);
	forget_files(r);
	memset(r->table, 0, (r->mask + 1) * sizeof(*r->table));
	r->count = 0;
	free(r->spans);
	r->spans = NULL;
	r->nspans = 0;
}

void rules_fini(struct rules *r)
{
	if (r->table)
		rules_forget(r);
	addrmap_fini(&r->full);
	addrmap_fini(&r->files);
	jitcode_fini(&r->jit);
	free(r->table);
	*r = (struct rules){ 0 };
}

/* The table must have a free slot. */
static struct fast_rule *slot_for(struct rules *r, uint64_t frame)
{
	size_t i = frame * r->factor >> r->shift;

	while (r->table[i & r->mask].frame)
		i++;
	return &r->table[i & r->mask];
}

static struct fast_rule *keep(struct rules *r, const struct fast_rule *rule)
{
	struct fast_rule *slot = slot_for(r, rule->frame);

	*slot = *rule;
	r->count++;
	return slot;
}

/* 0, or -ENOMEM: the table is as it was. */
static int grow(struct rules *r)
{
	struct fast_rule *old = r->table;
	size_t slots = r->mask + 1;
	unsigned log2 = 64 - r->shift;

	if (log2 == SLOTS_MAX_LOG2) {
		memset(old, 0, slots * sizeof(*old));
		r->count = 0;
		return 0;
	}
	if (make_table(r, log2 + 1))
		return -ENOMEM;
	for (size_t i = 0; i < slots; i++) {
		if (old[i].frame)
			keep(r, &old[i]);
	}
	free(old);
	return 0;
}

/* If memory is short, the file counts as one that describes nothing, until the next try. */
static const struct cfi *cfi_of(struct rules *r, const struct elfimage *img)
{
	struct cfi **slot = addrmap_get(&r->files, (uintptr_t)img), *c;

	if (slot)
		return *slot;
	if (cfi_new(elfimage_elf(img), &c))
		return NULL;
	if (addrmap_put(&r->files, (uintptr_t)img, &c)) {
		cfi_free(c);
		return NULL;
	}
	return c;
}

static bool is_top_of_stack(const struct cfi_rule *rule)
{
	return rule->cfa.how == CFI_VAL_OFFSET && rule->cfa.reg == FRAME_RSP && rule->cfa.offset == 8 &&
	       rule->regs[FRAME_RIP].how == CFI_OFFSET && rule->regs[FRAME_RIP].offset == -8;
}

/*
 * A function that is about to return has restored its caller's registers, but the tables, which do not record
 * pops, still have where it had saved them. If they are found through rbp (gcc's functions that align the
 * stack), that rbp is the caller's by now and leads elsewhere: libdw and libunwind lose a frame there. A
 * `ret` that is used as a jump, as in a retpoline, has its return address further up.
 */
static void set_restored(struct cfi_rule *rule)
{
	for (unsigned reg = 0; reg < FRAME_REGS; reg++) {
		if (reg != FRAME_RIP && reg != FRAME_RSP)
			rule->regs[reg] = (struct cfi_place){ .how = CFI_SAME };
	}
}

/* At the `ret`, or at the last instruction before it, for which gcc's tables are not updated yet. */
static bool is_about_to_return(const struct elfimage *img, taddr pc, const struct cfi_rule *rule)
{
	if (is_top_of_stack(rule))
		return nocfi_at_return(img, pc);
	return rule->cfa.how == CFI_VAL_OFFSET && rule->cfa.reg == FRAME_R10 &&
	       nocfi_at_realigned_end(img, pc);
}

/* 0; -ENOENT: code of which nothing is known; -ENXIO: no code of a module. */
static int decode(struct rules *r, uint64_t frame, struct cfi_rule *out)
{
	bool exact = frame & UNWIND_EXACT;
	taddr pc = pc_of(frame), at = exact ? pc : pc - 1;
	const struct module *m = modules_find(r->ms, at);
	const struct cfi *c;
	int err = -ENOENT;

	r->cold++;
	if (!m || m->gone || !m->img)
		return -ENXIO;
	c = cfi_of(r, m->img);
	if (c)
		err = cfi_find(c, at - m->bias, out);
	if (err)
		err = nocfi_rule(m->img, pc - m->bias, exact, out);
	else if (!exact && nocfi_changes_stack(m->img, at - m->bias))
		err = -ENOENT;
	else if (exact && is_about_to_return(m->img, pc - m->bias, out))
		set_restored(out);
	return err;
}

static bool fits_rbp(const struct cfi_place *p)
{
	return p->how == CFI_SAME ||
	       (p->how == CFI_OFFSET && p->offset % 8 == 0 && p->offset <= -16 && p->offset / 8 >= INT16_MIN);
}

static bool fits(const struct cfi_rule *rule)
{
	const struct cfi_place *cfa = &rule->cfa, *rip = &rule->regs[FRAME_RIP],
			       *rsp = &rule->regs[FRAME_RSP];

	return !rule->signal && cfa->how == CFI_VAL_OFFSET &&
	       (cfa->reg == FRAME_RSP || cfa->reg == FRAME_RBP) && cfa->offset == (int32_t)cfa->offset &&
	       rip->how == CFI_OFFSET && rip->offset == -8 && rsp->how == CFI_VAL_OFFSET && !rsp->offset &&
	       fits_rbp(&rule->regs[FRAME_RBP]);
}

static struct fast_rule shorten(uint64_t frame, const struct cfi_rule *rule)
{
	struct fast_rule out = { .frame = frame, .kind = RULE_SLOW };

	if (rule->regs[FRAME_RIP].how == CFI_UNDEFINED) {
		out.kind = RULE_END;
	} else if (fits(rule)) {
		out.kind = rule->cfa.reg == FRAME_RSP ? RULE_RSP : RULE_RBP;
		out.cfa = (int32_t)rule->cfa.offset;
		if (rule->regs[FRAME_RBP].how == CFI_OFFSET)
			out.rbp = (int16_t)(rule->regs[FRAME_RBP].offset / 8 + 1);
	}
	return out;
}

const struct fast_rule *rules_learn(struct rules *r, uint64_t frame)
{
	struct cfi_rule rule;
	int err = decode(r, frame, &rule);

	r->last = err ? (struct fast_rule){ .frame = frame, .kind = RULE_NONE } : shorten(frame, &rule);
	if (err == -ENXIO || (2 * r->count > r->mask && grow(r)))
		return &r->last;
	return keep(r, &r->last);
}

static const struct cfi_rule *keep_full(struct rules *r, uint64_t frame)
{
	struct cfi_rule *copy;

	if (addrmap_count(&r->full) == FULL_MAX)
		forget_full(r);
	copy = malloc(sizeof(*copy));
	if (!copy)
		return &r->last_full;
	*copy = r->last_full;
	if (addrmap_put(&r->full, frame, &copy)) {
		free(copy);
		return &r->last_full;
	}
	return copy;
}

const struct cfi_rule *rules_full(struct rules *r, uint64_t frame)
{
	struct cfi_rule **kept = addrmap_get(&r->full, frame);

	if (kept)
		return *kept;
	return decode(r, frame, &r->last_full) ? NULL : keep_full(r, frame);
}

bool rules_is_code(struct rules *r, uint64_t frame)
{
	taddr at = pc_of(frame) - !(frame & UNWIND_EXACT);
	const struct module *m = modules_find(r->ms, at);

	return (m && !m->gone) || !r->jit.pid || jitcode_holds(&r->jit, at);
}

bool rules_after_call(struct rules *r, taddr pc)
{
	const struct module *m = modules_find(r->ms, pc);

	if (!m || m->gone)
		return jitcode_holds(&r->jit, pc);
	return m->img && nocfi_after_call(m->img, pc - m->bias);
}

static struct rules_span span_of(const struct module *m)
{
	return (struct rules_span){ .lo = m->lo, .hi = m->hi, .bias = m->bias, .gone = m->gone };
}

static bool same_span(const struct rules_span *a, const struct rules_span *b)
{
	return a->lo == b->lo && a->hi == b->hi && a->bias == b->bias && a->gone == b->gone;
}

/* The ranges in which something changed, as pairs of old and new; 0 or -ENOMEM. */
static int find_changes(const struct rules *r, struct rules_span **out, size_t *n)
{
	size_t count = modules_count(r->ms);
	struct rules_span *v = calloc(2 * count + 1, sizeof(*v));

	*n = 0;
	*out = v;
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct rules_span now = span_of(modules_at(r->ms, i));

		if (i < r->nspans && same_span(&r->spans[i], &now))
			continue;
		if (i < r->nspans)
			v[(*n)++] = r->spans[i];
		v[(*n)++] = now;
	}
	return 0;
}

static bool within(const struct rules_span *v, size_t n, taddr pc)
{
	for (size_t i = 0; i < n; i++) {
		/* One more on either side: a return address may be just behind its call's module. */
		if (pc + 1 >= v[i].lo && pc <= v[i].hi)
			return true;
	}
	return false;
}

static void remember_spans(struct rules *r)
{
	size_t n = modules_count(r->ms);
	struct rules_span *spans = calloc(n + 1, sizeof(*spans));

	free(r->spans);
	r->spans = spans;
	r->nspans = spans ? n : 0;
	for (size_t i = 0; i < r->nspans; i++)
		spans[i] = span_of(modules_at(r->ms, i));
}

/* Take the table's rules out and put those that still hold into a new one. */
static void filter(struct rules *r, const struct rules_span *changed, size_t n)
{
	struct fast_rule *old = r->table;
	size_t slots = r->mask + 1;

	if (make_table(r, 64 - r->shift)) {
		memset(old, 0, slots * sizeof(*old));
		r->count = 0;
		return;
	}
	for (size_t i = 0; i < slots; i++) {
		if (old[i].frame && !within(changed, n, pc_of(old[i].frame)))
			keep(r, &old[i]);
	}
	free(old);
}

void rules_changed(struct rules *r)
{
	cleanup_free struct rules_span *changed = NULL;
	size_t n, before = r->count;

	if (find_changes(r, &changed, &n)) {
		rules_forget(r);
		return;
	}
	if (!n)
		return;
	filter(r, changed, n);
	forget_full(r);
	remember_spans(r);
	log_debug(UNWIND, "modules changed: %zu of %zu rules kept", r->count, before);
}
