/* SPDX-License-Identifier: MIT */
/*
 * rule: what is parsed and written out again means the same; what is refused is refused with a position and a
 * reason.
 */
#include "attach/rules/ruletext.h"

#include "tests/fuzz/fuzz.h"

/* The value of a load, a function of its operands only. */
static void read_loads(const struct expr_loads *loads, struct expr_values *v)
{
	for (unsigned i = 0; i < loads->n; i++) {
		const struct expr_load *l = &loads->all[i];
		uint64_t sum = l->base * 3u + l->index * 5u + l->scale * 7u +
			       (uint64_t)l->disp * 0x9e3779b97f4a7c15ull;

		if (l->base >= EXPR_BASE_LOAD0)
			sum += v->loads[l->base - EXPR_BASE_LOAD0] - l->base * 3u;
		if (l->index >= EXPR_BASE_LOAD0)
			sum += v->loads[l->index - EXPR_BASE_LOAD0] * l->scale - l->index * 5u;
		promised(l->base < EXPR_BASE_LOAD0 + i && l->index < EXPR_BASE_LOAD0 + i &&
			 l->base != EXPR_BASE_NONE);
		v->loads[i] = l->width == 8 || !l->width ? sum : sum & ((1ull << 8 * l->width) - 1);
		v->read |= 1U << i;
	}
}

/* Loads may be numbered in another order; the value is the same. */
static void same_value(const struct rule *ra, const struct expr *a, const struct rule *rb, const struct expr *b)
{
	struct expr_values va = { .args = { 1, 0xffffffff80000000, 3, 0, 5, 6 }, .ret = 7 }, vb = va;
	uint64_t x = 0, y = 0;

	read_loads(&ra->loads, &va);
	read_loads(&rb->loads, &vb);
	promised(expr_eval(a, &ra->loads, &va, &x) == expr_eval(b, &rb->loads, &vb, &y) && x == y);
}

static void round_trip(const struct rule *r)
{
	struct rule_error err;
	struct rule again;
	char text[8192], twice[8192], little[8];
	int n = rule_format(r, text, sizeof(text));

	promised(n > 0 && (size_t)n == strlen(text));
	promised(rule_format(r, little, sizeof(little)) == n && strlen(little) < sizeof(little));
	promised(rule_parse(text, &again, &err) == 0);
	promised(rule_format(&again, twice, sizeof(twice)) == n && !strcmp(text, twice));
	promised(again.op == r->op && again.where == r->where && again.addr == r->addr &&
		 !strcmp(again.name, r->name) && !strcmp(again.build_id, r->build_id) &&
		 !strcmp(again.module, r->module) && again.skip == r->skip && again.nifs == r->nifs &&
		 again.own_condition == r->own_condition && again.tag_text == r->tag_text);
	promised(rule_at_exit(&again) == rule_at_exit(r) && rule_needs_args(&again) == rule_needs_args(r));
	same_value(&again, &again.ptr, r, &r->ptr);
	same_value(&again, &again.size, r, &r->size);
	same_value(&again, &again.old, r, &r->old);
	same_value(&again, &again.count, r, &r->count);
	same_value(&again, &again.by, r, &r->by);
	same_value(&again, &again.tag, r, &r->tag);
	for (unsigned i = 0; i < r->nifs; i++)
		same_value(&again, &again.ifs[i], r, &r->ifs[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = fuzz_text(data, size);
	struct rule_error err;
	struct rule r;

	if (!text)
		return 0;
	if (rule_parse(text, &r, &err) == 0)
		round_trip(&r);
	else
		promised(err.column >= 1 && err.column <= strlen(text) + 1 && *err.message);
	return 0;
}
