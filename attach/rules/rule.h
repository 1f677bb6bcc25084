/* SPDX-License-Identifier: MIT */
/*
 * rule: one line that says what to watch.
 *
 *	alloc   FUNCTION [ptr=E] [also=E] [size=E] [tag=T] [if=E]... [module=GLOB] [skip=N]		ptr: ret
 *	realloc FUNCTION [old=E] [ptr=E] [size=E] [tag=T] [if=E]... [module=GLOB] [skip=N]	old: arg1, ptr: ret
 *	free    FUNCTION [ptr=E] [if=E]... [module=GLOB]					ptr: arg1
 *	protect FUNCTION [ptr=E] [size=E] [prot=E] [if=E]... [module=GLOB] [skip=N]	ptr: arg1, size: arg2, prot: arg3
 *	ref     FUNCTION [obj=E] [count=E] [by=E] [if=E]... [module=GLOB] [skip=N]		obj: arg1, by: 1
 *	unref   FUNCTION [obj=E] [count=E] [by=E] [if=E]... [module=GLOB] [skip=N]		the same
 *	from    FUNCTION	counting begins when it is entered
 *	until   FUNCTION	counting ends when it is entered
 *	in      FUNCTION	only what happens inside it counts
 *
 * FUNCTION is a name, 0xADDRESS, MODULE+0xOFFSET or MODULE@BUILDID+0xOFFSET, where
 * MODULE is a file's base name and may hold * and ?, and BUILDID the first 8 or more hex
 * digits of its build id: what is said by an offset holds for one build only. E is an
 * expression (expr.h), T an expression or str(E), the C string at E. `ref` with obj=ret is an object's birth.
 * In a family of ranges alloc also takes prot=E, realloc was=E and free size=E; `protect` is there only (attach/events/tally_ranges.c).
 *
 * All E are computed when the function returns if the rule needs that (alloc, realloc,
 * or one of them says ret), with the arguments it was called with; else when it is entered.
 *
 * Pure: parses text, touches nothing. Families, and lines that hold for more than one rule, are rulefile's.
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

/* Parse @text into @out (family 0, not builtin). 0, or -EINVAL with @err filled. */
must_check int rule_parse(const char *text, struct rule *out, struct rule_error *err);

/* A FUNCTION alone, all of @text: where, name, build_id and addr of @out are set. 0, or -EINVAL with @err filled. */
must_check int rule_parse_function(const char *text, size_t len, struct rule *out, struct rule_error *err);

/* The rule as text again ("alloc malloc size=arg1"), without its defaults; the length as snprintf. */
int rule_format(const struct rule *r, char *buf, size_t n);

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
