/* SPDX-License-Identifier: MIT */
/*
 * plan: where the traps for one function go, decided before anything is
 * planted, from the file alone.
 *
 *   one stop    alloc whose every exit is known: its `ret` instructions (or
 *               the tail call whose result is known), result in a register
 *   one stop    free, ref, unref, from, until: the first instruction that can be emulated,
 *               at or near the entry, arguments still in place
 *   two stops   realloc; in; whatever needs the result and also what the function was given (--sizes
 *               exact, ptr=*arg1, if=arg2==0): entry and exits
 *   two stops   exits not all found: entry and the return address, planted
 *               when it is first seen
 *   no trap     wrappers that reach the memory only through a function
 *               that is trapped itself: by a call (glibc's posix_memalign: seen there, told
 *               apart by the return address) or a jump
 *   calls       of a sampled watch: traps stand behind the calls of the function (attach/sampling/sampling.h), none in it
 *
 * Calls nest within a family (rule.h), and families do not see each other: a function
 * of one that jumps to one of another is two calls, each with an end of its own.
 */
#ifndef MM_PLAN_H
#define MM_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/keeper/shared/site.h"
#include "attach/probes/code/decode.h"
#include "attach/probes/code/elfimage.h"
#include "attach/rules/rule.h"

enum plan_kind { PLAN_EXITS, PLAN_ENTRY, PLAN_ENTRY_EXITS, PLAN_ENTRY_RETURN, PLAN_WRAPPER, PLAN_CALLS, PLAN_NONE };

#define PLAN_SITES 24

/* What planning is told about the target beyond the file. */
struct plan_options {
	bool exact_sizes;	/* --sizes exact: requested sizes, by an entry trap */
	bool glibc_chunks;	/* malloc and its relatives in this file are glibc's: the word before their blocks is the size */
	bool shadow_stack;	/* emulating ret or call would desert the shadow stack: avoid them */
	const struct rule *all;	/* every rule of the run: what the file calls elsewhere may be watched there. NULL: just those planned */
	size_t nall;
};

/* One function of one module. Addresses are the file's (add the load bias before use). */
struct plan {
	const struct rule *rule;
	uint16_t rule_index;
	enum plan_kind kind;
	char function[RULE_NAME_MAX];
	taddr entry;
	struct code_range body;		/* the function's own extent; return addresses in it mean: called by this function */
	struct site sites[PLAN_SITES];	/* addr, scratch, rip-relative parts: the file's addresses */
	size_t nsites;
	bool passes_on;			/* a release that reaches others of its family: what it was given may be seen there again */
	double stops;			/* stops per call, the usual path */
	char reason[240];		/* why so, for people: "3 exits, all `ret`" or why not */
};

/* All the functions of one module that rules name, planned together (they call each other). */
struct plan_set {
	struct plan *plans;
	size_t n;
};

/*
 * Plan @rules for @img. Functions that the file does not have yield no plan.
 * Rule i is reported as rule_index i. Of several rules that would put their traps on the same instructions the first counts: the
 * others' plans are PLAN_NONE and say so, but for a second name of the same function in the same family, which has no plan.
 * WHERE_ADDRESS rules are taken as file addresses already (the caller converted them and passes only those of this module).
 * 0 or -ENOMEM.
 */
must_check int plan_module(struct elfimage *img, struct decoder *d, const struct rule *rules, size_t nrules,
			   const struct plan_options *opt, struct plan_set *out);
void plan_set_fini(struct plan_set *set);

/* The family of the sites of @r. */
uint16_t plan_family(const struct rule *r);

/*
 * A trap at a return address @ret (file address), to close calls whose exits are
 * not known: of whatever rule and family, what they want is said at their entry. Where nothing else is possible the site
 * has neither emu nor scratch: it can only be stepped in place.
 * 0; -EILSEQ if it cannot be trapped there.
 */
must_check int plan_return(struct elfimage *img, struct decoder *d, taddr ret,
			   const struct plan_options *opt, struct site *out);

/*
 * A trap behind a call that returns to @ret (known to be one: callsites.h, or body_has_return), for each call that ends there. What
 * comes out of it is a block of glibc's that begins @delta bytes before the result. 0; -EILSEQ if it cannot be trapped there.
 */
must_check int plan_behind(struct elfimage *img, struct decoder *d, taddr ret, const struct plan_options *opt, uint32_t delta,
			   struct site *out);

/* A hit reads the header in front of such a block (SITE_CHUNK), and its first two words (loads 0 and 1). */
void plan_block_loads(struct site *s, uint32_t delta);

/* A plain entry site (dynamic linker's notification, scopes) at file address @addr. 0, -EILSEQ or -ENOMEM. */
must_check int plan_entry(struct elfimage *img, struct decoder *d, taddr addr, uint16_t flags, struct site *out);

/* Move a site's addresses by the module's load bias. */
void site_rebase(struct site *s, taddr bias);

/* What a trap there is for: "entry", "exit", "scope"; what becomes of the instruction: "emulated", "stepped in padding", ... */
const char *plan_site_role(const struct site *s);
const char *plan_site_how(const struct site *s);
const char *plan_kind_name(enum plan_kind kind);	/* "exits", "entry", "entry-exits", "entry-return", "wrapper", "calls", "none" */

/*
 * For `mmattach probes`: one line for the function, one for each of its sites
 * (address, instruction, how it is got past). The sites are @p's own, at
 * file addresses; @bias is added to what is printed. The length as snprintf.
 */
int plan_describe(const struct plan *p, struct decoder *d, taddr bias, char *buf, size_t n);

#endif
