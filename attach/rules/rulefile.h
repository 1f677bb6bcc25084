/* SPDX-License-Identifier: MIT */
/*
 * rulefile: many rules: the text of a pack or of a user's file becomes a rule set.
 *
 *	# what it is for
 *	family NAME [refs|ranges] [of=NOUN] [private] [refuses]
 *				what follows belongs to family NAME; pointers only match within a family
 *	note TEXT		what the reader of a report of that family must know: which calls its rules
 *				do not see
 *	module GLOB		what follows, until the next `module` or `family`, holds in modules of this
 *				base name
 *	skip FUNCTION		its frames at the front of stacks are left out: a wrapper
 *	alloc ...		a rule (rule.h)
 *
 * A comment begins at the start of a line or after a blank. Rules before any family are
 * of family "own", or, if they are ref and unref, of "own-refs". Rules of families of the same name belong
 * together, whatever text they are from.
 *
 * Pure: parses text, touches nothing.
 */
#ifndef MM_RULEFILE_H
#define MM_RULEFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/rules/rule.h"
#include "base/cleanup.h"

#define RULE_NOTE 240

struct rule_family {
	char name[32];
	char pack[32];		/* the pack that names it first; "": the user's own */
	bool refs;		/* of objects with reference counts; else of blocks */
	bool ranges;		/* its blocks are ranges of addresses, of which a part may be freed */
	bool pools;		/* its blocks lie in pools, and may be freed with them */
	bool private;		/* every process has its own, even a vfork child in its parent's memory */
	bool refuses;		/* a free may be refused; then the block is freed again later, rightly */
	char noun[24];		/* what one of its blocks or objects is called in reports */
	char note[RULE_NOTE];	/* what a reader of its report must know; "": nothing */
};

/* As in struct rule. */
struct rule_skip {
	enum rule_where where;
	char name[RULE_NAME_MAX];
	char build_id[RULE_BUILD_ID];
	taddr addr;
};

struct ruleset {
	struct rule *rules;
	size_t nrules;
	struct rule_family *families;
	size_t nfamilies;
	struct rule_skip *skips;
	size_t nskips;
};

/* As rule_holds_in, for a skip. */
bool rule_skip_holds_in(const struct rule_skip *s, const char *module, const char *build_id);

#define RULESET_MAX 10000	/* rules, families or skips */

struct rulefile_error {
	size_t line, column;	/* 1-based */
	char message[160];	/* what was expected, lower case */
	char text[320];		/* the whole error: "FILE:LINE:COLUMN: message" */
};

/*
 * Add the rules of @text to @rs (zeroed before the first time; call ruleset_fini whatever this returns).
 * @file: its name in errors. @pack: a string that outlives @rs, or NULL for the user's own. 0, -EINVAL with
 * @err filled, -ENOMEM.
 */
must_check int ruleset_add_text(struct ruleset *rs, const char *file, const char *pack, const char *text,
				size_t len, struct rulefile_error *err);
void ruleset_fini(struct ruleset *rs);

/*
 * Make @out (ruleset_fini) of the rules of @all whose family or pack is one of @names, the user's own rules,
 * and all skips. Families are renumbered in the order in which rules first use them. 0; -ENOENT with the
 * first name that no family or pack has in @unknown; -ENOMEM.
 */
must_check int ruleset_select(const struct ruleset *all, const char *const *names, size_t n,
			      struct ruleset *out, const char **unknown);

#endif
