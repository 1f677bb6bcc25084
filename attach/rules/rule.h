/* SPDX-License-Identifier: MIT */
/*
 * rule: which function to watch, and what a call of it means: one line of a rule file as data. Its text:
 * ruletext.h.
 *
 * Families, and lines that hold for more than one rule, are in rulefile.h.
 */
#ifndef MM_RULE_H
#define MM_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/rules/expr.h"
#include "base/cleanup.h"
#include "base/taddr.h"

enum rule_op {
	RULE_ALLOC,
	RULE_REALLOC,
	RULE_FREE,
	RULE_REF,
	RULE_UNREF,
	RULE_FROM,
	RULE_UNTIL,
	RULE_IN,
	RULE_PROTECT,
	RULE_POOL,
	RULE_RESET,
	RULE_MOVE
};

#define RULE_OPS (RULE_MOVE + 1)

enum rule_where { WHERE_NAME, WHERE_ADDRESS, WHERE_OFFSET };

#define RULE_NAME_MAX 128
#define RULE_MODULE_MAX 64
#define RULE_BUILD_ID 41
#define RULE_IFS 3

struct rule {
	enum rule_op op;
	enum rule_where where;
	char name[RULE_NAME_MAX];	/* function; WHERE_OFFSET: module, a glob */
	char build_id[RULE_BUILD_ID];	/* WHERE_OFFSET: how the file's must begin, lower case; "": any */
	taddr addr;			/* WHERE_ADDRESS: runtime address; WHERE_OFFSET: module's ELF vaddr */
	uint16_t family;		/* its number in the rule set; for scopes 0, without meaning */
	/* n 0: not given, and no default */
	struct expr ptr;		/* of ref, unref: obj= */
	struct expr also;		/* a second block that the same call allocates, or n 0 */
	struct expr size, old, count, by, tag;
	struct expr pool;		/* the pool that the block lies in, or is moved to */
	struct expr children;		/* of reset: are the pools in it freed, too? */
	struct expr prot, was;		/* of ranges: the protection (PROT_...); the size of the old range */
	struct expr ifs[RULE_IFS];	/* all must hold */
	uint8_t nifs;
	bool own_condition;		/* if= was given; else address 0 is not a block or object */
	struct expr_loads loads;	/* of all of them */
	bool tag_text;			/* tag=str(...): the load whose width is 0 */
	uint8_t skip;			/* frames left out at the front of the stack */
	char module[RULE_MODULE_MAX];	/* a glob of base names; "": all */
	const char *pack;		/* the pack it is from, or NULL: the user's own */
	bool builtin;			/* from a pack: if it is not found, that is no error of the user */
};

struct rule_error {
	size_t column;		/* 1-based, in the text that was parsed */
	char message[160];	/* what was expected, lower case */
};

/* "alloc", "realloc", ... */
const char *rule_op_name(enum rule_op op);

bool rule_is_scope(const struct rule *r);	/* from, until, in */
bool rule_is_ref(const struct rule *r);		/* ref, unref */
bool rule_allocates(const struct rule *r);	/* alloc, realloc, pool: it makes a block */
bool rule_is_of_pools(const struct rule *r);	/* pool, reset, move, or it has pool= */
bool rule_is_of_ranges(const struct rule *r);	/* it has keys that only ranges have */
bool rule_is_birth(const struct rule *r);	/* ref with obj=ret: a new object (obj=ret+0: an old one) */

/* Is the function's return needed, and not only its entry? */
bool rule_at_exit(const struct rule *r);

/* Are its arguments needed when it returns? (Not for the size: the allocator itself may know it.) */
bool rule_needs_args(const struct rule *r);

/* The arguments that it needs at all, bits of EXPR_ARGUMENTS. */
unsigned rule_arguments(const struct rule *r);

/*
 * Can it hold in a module of this base name? @build_id: lower case hex, "" if the file has none. A
 * WHERE_ADDRESS rule can hold in any module.
 */
bool rule_holds_in(const struct rule *r, const char *module, const char *build_id);

#endif
