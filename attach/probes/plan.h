/* SPDX-License-Identifier: MIT */
/*
 * plan: where the traps for one function go, decided before anything is planted, from the file alone.
 *
 *   one stop    alloc of which all exits are known: its `ret` instructions (or the tail call whose result
 *               is known), result in a register
 *   one stop    free, ref, unref, from, until: the first instruction that can be emulated, at or near
 *               the entry, where the arguments are still in their registers
 *   two stops   realloc; in; whatever needs both the result and the arguments (--sizes exact, ptr=*arg1,
 *               if=arg2==0): entry and exits
 *   two stops   exits not all found: entry and the return address, planted when it is first seen
 *   one probe   with the kernel's traps, a function of the heap: its entry and return; no other function gets a
 *               return probe, as an exception that passes it would end the target (return_probe.h)
 *   no trap     wrappers that allocate only through a function that is trapped itself: by a call (glibc's
 *               posix_memalign: the hit is there, and distinguished by the return address) or a jump
 *   calls       in a sampled watch: traps are planted after the calls of the function
 *               (attach/sampling/sampling.h), none in it
 *
 * Calls nest within a family (rule.h), and families are independent: if a function of one family jumps to one
 * of another, these are two calls, each with an end of its own.
 */
#ifndef MM_PLAN_H
#define MM_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/keeper/shared/site.h"
#include "attach/probes/code/decode.h"
#include "attach/probes/code/elfimage.h"
#include "attach/rules/rule.h"

enum plan_kind {
	PLAN_EXITS,
	PLAN_ENTRY,
	PLAN_ENTRY_EXITS,
	PLAN_ENTRY_RETURN,
	PLAN_RETURNS,
	PLAN_WRAPPER,
	PLAN_CALLS,
	PLAN_NONE
};

#define PLAN_SITES 24

/* What the planner must know about the target beyond the file. */
struct plan_options {
	bool exact_sizes;	/* --sizes exact: requested sizes, by an entry trap */
	/* malloc and its relatives in this file are glibc's: the word before their blocks is the size */
	bool glibc_chunks;
	/* emulating ret or call would leave the shadow stack out of step: avoid them */
	bool shadow_stack;
	/*
	 * the kernel traps (attach/uprobe): an instruction that it emulates is preferred at an entry, any can be an
	 * exit, and functions of a heap that never throw are probed at their entry and their return (return_probe.h)
	 */
	bool kernel;
	bool kernel_returns;	/* return probes may be used at all */
	bool sampled;		/* which calls are recorded is decided at their entry (attach/uprobe/uprobe_sample.h) */
	bool other_returns;	/* this file is an allocator that never looks at the stack of its callers */
	/*
	 * every rule of the run: a function that the file calls may be watched in another module. NULL: only
	 * those planned
	 */
	const struct rule *all;
	size_t nall;
};

/* One function of one module. Addresses are the file's (add the load bias before use). */
struct plan {
	const struct rule *rule;
	uint16_t rule_index;
	enum plan_kind kind;
	char function[RULE_NAME_MAX];
	taddr entry;
	/* the function's own extent; return addresses in it mean: called by this function */
	struct code_range body;
	struct site sites[PLAN_SITES];	/* addr, scratch, rip-relative parts: the file's addresses */
	size_t nsites;
	/* a release that reaches others of its family: its argument may be seen there again */
	bool forwards;
	double stops;			/* stops per call, the usual path */
	/* the reason, for the user: "3 exits, all `ret`", or why there is no trap */
	char reason[240];
};

/* All the functions of one module that rules name, planned together (they call each other). */
struct plan_set {
	struct plan *plans;
	size_t n;
};

/*
 * Plan @rules for @img. Functions that the file does not have yield no plan. Rule i is reported as rule_index
 * i. If several rules would put their traps on the same instructions, the first wins: the plans of the others
 * are PLAN_NONE and give that as the reason. A second name of the same function in the same family has no
 * plan. WHERE_ADDRESS rules must have file addresses (the caller has converted them, and passes only those of
 * this module). 0 or -ENOMEM.
 */
must_check int plan_module(struct elfimage *img, struct decoder *d, const struct rule *rules, size_t nrules,
			   const struct plan_options *opt, struct plan_set *out);
void plan_set_fini(struct plan_set *set);

/* The family of the sites of @r. */
uint16_t plan_family(const struct rule *r);

/*
 * A trap at the return address @ret (file address), to close calls whose exits are not known. It serves any
 * rule and family: what a call needs is recorded at its entry. If nothing else is possible, the site has
 * neither emu nor scratch: it can only be stepped in place. 0; -EILSEQ if it cannot be trapped there.
 */
must_check int plan_return(struct elfimage *img, struct decoder *d, taddr ret,
			   const struct plan_options *opt, struct site *out);

/*
 * A trap after a call that returns to @ret (known to be a return address: callsites.h, or body_has_return).
 * Each call that returns there hits it. The result points @delta bytes into a block of glibc's. 0; -EILSEQ if
 * it cannot be trapped there.
 */
must_check int plan_behind(struct elfimage *img, struct decoder *d, taddr ret, const struct plan_options *opt,
			   uint32_t delta, struct site *out);

/*
 * Have a hit read the header in front of such a block (SITE_CHUNK), and the block's first two words (loads 0
 * and 1).
 */
void plan_block_loads(struct site *s, uint32_t delta);

/* A plain entry site (dynamic linker's notification, scopes) at file address @addr. 0, -EILSEQ or -ENOMEM. */
must_check int plan_entry(struct elfimage *img, struct decoder *d, taddr addr, bool kernel, uint16_t flags,
			  struct site *out);

/* Move a site's addresses by the module's load bias. */
void site_rebase(struct site *s, taddr bias);

/*
 * What the trap is for: "entry", "exit", "scope"; how a thread gets past its instruction: "emulated",
 * "stepped in padding", ...
 */
const char *plan_site_role(const struct site *s);
const char *plan_site_how(const struct site *s);
/* "exits", "entry", "entry-exits", "entry-return", "returns", "wrapper", "calls", "none" */
const char *plan_kind_name(enum plan_kind kind);

/*
 * For `mmattach probes`: one line for the function, one for each of its sites (address, instruction, how a
 * thread gets past it). The sites are @p's own, at file addresses; @bias is added to what is printed. Returns
 * the length as snprintf does.
 */
int plan_describe(const struct plan *p, struct decoder *d, taddr bias, char *buf, size_t n);

#endif
