/* SPDX-License-Identifier: MIT */
/*
 * rules: how to find a frame's caller, cached per program counter.
 *
 *	frame ──▶ struct fast_rule   16 bytes in an open hash table: for nearly all frames
 *	      └─▶ struct cfi_rule    the whole rule, for the few that do not fit, or if all registers matter
 *
 * A frame is a pc with UNWIND_EXACT or without: a return address is looked up one byte before, inside the
 * call. Keys come from the target, so the hash is a multiplication by a random number per table, and
 * addresses that are no code at all are not cached: a corrupt stack cannot fill the table.
 */
#ifndef MM_UNWIND_RULES_H
#define MM_UNWIND_RULES_H

#include "attach/stacks/unwind/cfirule.h"
#include "attach/stacks/unwind/jitcode.h"
#include "base/addrmap.h"
#include "base/taddr.h"

struct modules;

enum rule_kind {
	RULE_RSP,	/* CFA is rsp + cfa; the return address is in the word below it */
	RULE_RBP,	/* the same with rbp */
	RULE_END,	/* the outermost frame */
	RULE_SLOW,	/* rules_full has it */
	RULE_NONE,	/* nothing is known */
};

struct fast_rule {
	uint64_t frame;		/* the key; 0: a free slot */
	int32_t cfa;
	/* the caller's rbp is so many words from the return address, always below; 0: still in rbp */
	int16_t rbp;
	uint8_t kind;		/* enum rule_kind */
};

_Static_assert(sizeof(struct fast_rule) == 16, "four to a cache line");

/* A module as it was when its rules were decoded. */
struct rules_span {
	taddr lo, hi, bias;
	bool gone;
};

struct rules {
	struct modules *ms;
	struct fast_rule *table;
	size_t count, mask;		/* mask + 1 slots, at most half of them used */
	unsigned shift;
	uint64_t factor;
	struct fast_rule last;		/* the last rule decoded, if it is not cached */
	struct addrmap full;		/* frame -> struct cfi_rule * */
	struct cfi_rule last_full;	/* the same for a whole rule */
	struct addrmap files;		/* struct elfimage * -> struct cfi * */
	struct jitcode jit;
	struct rules_span *spans;
	size_t nspans;
	uint64_t cold;			/* rules decoded */
};

must_check int rules_init(struct rules *r, struct modules *ms);
void rules_fini(struct rules *r);

/* The cached rule of @frame, or NULL. @frame is never 0. */
static inline const struct fast_rule *rules_find(const struct rules *r, uint64_t frame)
{
	for (size_t i = frame * r->factor >> r->shift; ; i++) {
		const struct fast_rule *rule = &r->table[i & r->mask];

		if (rule->frame == frame)
			return rule;
		if (!rule->frame)
			return NULL;
	}
}

/* Decode the rule of a frame that rules_find does not know. Valid until the next call. */
const struct fast_rule *rules_learn(struct rules *r, uint64_t frame);

/* The whole rule of @frame, or NULL if nothing is known. Valid until the next call. */
const struct cfi_rule *rules_full(struct rules *r, uint64_t frame);

/*
 * true if @frame is in a module, or in code of no file. Always true if such code is not tracked
 * (jitcode_follow).
 */
bool rules_is_code(struct rules *r, uint64_t frame);

/*
 * true if @pc can be a return address: a call comes before it in a module's code, or it is code of no file.
 */
bool rules_after_call(struct rules *r, taddr pc);

/* The modules were read again: forget rules of addresses where something changed. */
void rules_changed(struct rules *r);

/* Forget everything: the files are about to be closed. */
void rules_forget(struct rules *r);

#endif
