/* SPDX-License-Identifier: MIT */
#include "attach/events/tally_refs.h"

/* a larger number cannot be a number of references: the register has another value */
#define BY_MAX UINT32_MAX

static bool is_known(const struct tally *t, const struct tallied *x, taddr obj)
{
	return ledger_object(&t->recorder->ledger, x->family, obj) != NULL;
}

/* After the call: count + 1, or FACT_NONE. false: it could not be read. */
static bool count_after(const struct tallied *x, uint64_t by, uint64_t *out)
{
	const struct rule *r = x->rule;
	uint64_t count;

	*out = FACT_NONE;
	if (!r->count.n)
		return true;
	if (!rule_values_get(&x->values, &r->count, &count))
		return false;
	if (!rule_at_exit(r) && r->op == RULE_REF)
		count += by;
	else if (!rule_at_exit(r))
		count = count > by ? count - by : 0;
	*out = count + 1;
	return true;
}

/* The object is out of scope: if it was in the ledger, it is removed there. */
static void leave_out(struct tally *t, const struct tallied *x, taddr obj)
{
	const struct fact f = { .kind = MMT_FORGET, .time_us = tallied_time(t, x), .block = { .addr = obj } };

	if (is_known(t, x, obj))
		tallied_put(t, x, &f);
	tallied_put_outside(t, x, obj);
}

/* Of an unknown object: is the call out of scope, or does it release what was acquired out of scope? */
static bool is_out_of_scope(struct tally *t, const struct tallied *x, taddr obj)
{
	return !x->in_scope || (x->rule->op == RULE_UNREF && addrmap_get(&t->outside, tallied_key(x, obj)));
}

void tally_ref(struct tally *t, const struct tallied *x)
{
	const struct rule *r = x->rule;
	bool birth = rule_is_birth(r);
	struct fact f = {
		.kind = r->op == RULE_UNREF ? MMT_UNREF : birth ? MMT_BORN : MMT_REF,
		.time_us = tallied_time(t, x),
	};

	if (x->hit->head.flags & RECORD_OPENS || rule_values_hold(&x->values) == HOLDS_NOT)
		return;
	if (rule_values_hold(&x->values) == HOLDS_UNREAD ||
	    !rule_values_get(&x->values, &r->ptr, &f.ref.addr) ||
	    !rule_values_get(&x->values, &r->by, &f.ref.by) || f.ref.by > BY_MAX ||
	    !count_after(x, f.ref.by, &f.ref.count)) {
		tallied_unread(t, x);
		return;
	}
	if ((!f.ref.addr && !r->own_condition) || !f.ref.by)
		return;
	/* within a call that makes an object: of that object, which does not exist yet */
	if (x->hit->head.flags & RECORD_WITHIN && !is_known(t, x, f.ref.addr))
		return;
	if (birth ? !x->in_scope : !is_known(t, x, f.ref.addr) && is_out_of_scope(t, x, f.ref.addr)) {
		leave_out(t, x, f.ref.addr);
		return;
	}
	if (!tallied_stack(t, x, &f.ref.stack))
		return;
	if (!tallied_caller_counts(t, f.ref.stack) && (birth || !is_known(t, x, f.ref.addr))) {
		leave_out(t, x, f.ref.addr);
		return;
	}
	if (birth)
		(void)tallied_take_outside(t, x, f.ref.addr);
	tallied_count(t, x);
	tallied_put(t, x, &f);
}
