/* SPDX-License-Identifier: MIT */
/*
 * rule: what to watch, and what happens there: one line of a rule file as data. ruletext.h has it as text.
 *
 * Families, and lines that hold for more than one rule, are rulefile's.
 */
#ifndef MM_RULE_H
#define MM_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/rules/expr.h"
#include "base/cleanup.h"
#include "base/taddr.h"

enum rule_op { RULE_ALLOC, RULE_REALLOC, RULE_FREE, RULE_REF, RULE_UNREF, RULE_FROM, RULE_UNTIL, RULE_IN, RULE_PROTECT };

#define RULE_OPS (RULE_PROTECT + 1)

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
	taddr addr;			/* WHERE_ADDRESS: runtime address; WHERE_OFFSET: offset (ELF vaddr) in the module */
	uint16_t family;		/* its number in the rule set; of scopes 0 and without meaning */
	/* n 0: not given, and no default */
	struct expr ptr;		/* of ref, unref: obj= */
	struct expr also;		/* a second block that the same call gives out, or n 0 */
	struct expr size, old, count, by, tag;
	struct expr prot, was;		/* of ranges: how memory may be used (PROT_...); what was the size of the old one */
	struct expr ifs[RULE_IFS];	/* all must hold */
	uint8_t nifs;
	bool own_condition;		/* if= was given; else 0 is no block and no object */
	struct expr_loads loads;	/* of all of them */
	bool tag_text;			/* tag=str(...): the load whose width is 0 */
	uint8_t skip;			/* frames left out at the front of the stack */
	char module[RULE_MODULE_MAX];	/* a glob of base names; "": all */
	const char *pack;		/* that it is from, or NULL: the user's own */
	bool builtin;			/* from a pack: not found is no error of the user's */
};

struct rule_error {
	size_t column;		/* 1-based, in the text that was parsed */
	char message[160];	/* what was expected, lower case */
};

/* "alloc", "realloc", ... */
const char *rule_op_name(enum rule_op op);

bool rule_is_scope(const struct rule *r);	/* from, until, in */
bool rule_is_ref(const struct rule *r);		/* ref, unref */
bool rule_is_of_ranges(const struct rule *r);	/* it says what is said of ranges only */
bool rule_is_birth(const struct rule *r);	/* ref with obj=ret: the object begins there (obj=ret+0: it was there before) */

/* The function's return is needed, not only its entry. */
bool rule_at_exit(const struct rule *r);

/* When it returns, what it was called with is needed; but for the size, which an allocator may know itself. */
bool rule_needs_args(const struct rule *r);

/* Can it hold in a module of this base name? @build_id: lower case hex, "" if the file has none. An address may be anywhere. */
bool rule_holds_in(const struct rule *r, const char *module, const char *build_id);

#endif
