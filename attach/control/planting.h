/* SPDX-License-Identifier: MIT */
/*
 * planting: from rules and modules to planted traps.
 *
 * Each module is planned once, when it is first seen (probes/plan.h); its sites are relocated to its load
 * address and planted by the keeper. What could not be trapped, and why, is recorded for the report: a watch
 * that misses a function must report that.
 */
#ifndef MM_PLANTING_H
#define MM_PLANTING_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/control/link.h"
#include "attach/control/skipped_functions.h"
#include "attach/probes/plan.h"
#include "attach/rules/rulefile.h"
#include "attach/target/modules.h"
#include "base/cleanup.h"

/* A rule applied to one function of one module. */
struct probe {
	const struct rule *rule;
	const struct module *module;
	char function[RULE_NAME_MAX];
	enum plan_kind kind;
	struct code_range body;		/* runtime addresses */
	uint64_t hits;			/* counted by the reader of the ring */
	bool forwards;			/* as in struct plan */
	bool glibc;			/* of glibc's malloc: a thread that ends frees cached blocks again */
	char why_not[240];		/* "" if it is watched */
};

#define NO_PROBE UINT32_MAX

/* What the controller knows of a site by its number. */
struct site_info {
	uint32_t probe;			/* or NO_PROBE */
	struct module *module;
	bool chunk;			/* its load SITE_CHUNK is glibc's chunk header; set by planting */
};

/* The hooks of a watch that plans other sites than the rules' functions (a sampled one); plan NULL: none. */
struct planting_own {
	int (*plan)(void *ctx, struct module *m);	/* @m is new: planting_add its sites. 0 or -ENOMEM */
	void (*gone)(void *ctx, uint32_t site);		/* its module was unmapped; @site will be reused */
	void *ctx;
};

struct planting {
	struct link *link;
	struct modules *modules;
	struct decoder *decoder;
	int mem;			/* /proc/PID/mem, to read; to lift traps if the keeper is killed */
	struct plan_options options;	/* glibc_chunks is set per module */
	const struct ruleset *set;	/* the caller's */
	const struct rule *rules;	/* the set's */
	size_t nrules;
	struct skipped_functions skipped;
	struct probe *probes;
	size_t nprobes;
	struct site_info sites[SHARED_SITES];
	uint32_t waiting[SHARED_SITES];	/* site numbers that are planned but not planted */
	size_t nwaiting;
	/*
	 * by family, NULL: none: allocations that are not seen. What was freed may be allocated again by them, so
	 * no second free is called a double one
	 */
	bool *unseen_allocs;
	/*
	 * calls whose end could not be trapped this time; those of which the keeper knows that it cannot be
	 * are counted there (refused_returns.h)
	 */
	uint64_t lost_returns;
	bool free_stacks;		/* frees carry a slice of stack too */
	bool hold;			/* a hit that wants a stack holds its thread until it is released */
	struct planting_own own;
};

/* Takes ownership of @mem. 0 or -errno (then @mem is closed too). */
must_check int planting_init(struct planting *p, struct link *link, struct modules *modules, int mem,
			     const struct ruleset *set, const struct plan_options *options);
void planting_fini(struct planting *p);

/*
 * Plan all of @rules that can concern @m; the plans refer to @rules by their numbers there. @mem: /proc/PID/mem, needed
 * for return probes. Call plan_set_fini. 0 or -ENOMEM.
 */
must_check int planting_plan_module(const struct module *m, struct decoder *d, const struct rule *rules,
				    size_t nrules, const struct plan_options *options, int mem,
				    struct plan_set *set);

/* Plan the modules that are mapped and new. 0 or -ENOMEM. It touches nothing in the target. */
must_check int planting_plan(struct planting *p);

/*
 * For the hooks of struct planting_own. planting_add_probe: the function of rule number @rule is in @m, and
 * is watched by traps outside of it; its number is put in @probe. 0 or -ENOMEM. planting_add: queue site @s
 * of @m (file addresses) for planting, as number @i. 0 or -ENOSPC.
 */
must_check int planting_add_probe(struct planting *p, const struct module *m, uint16_t rule, uint32_t *probe);
must_check int planting_add(struct planting *p, struct module *m, const struct site *s, uint32_t *i);

/*
 * Plan a trap at the function that the dynamic linker calls when modules are loaded and unloaded. The thread
 * is held there, unless there are hooks (struct planting_own). 0 (also for a program without a dynamic
 * linker) or -errno.
 */
must_check int planting_plan_linker(struct planting *p);

/* The same at the program's first instruction, for a program that has a dynamic linker. */
must_check int planting_plan_start(struct planting *p);

/*
 * Plant all that is planned and not planted. 0, or -errno if the keeper does not answer. What it refused is
 * logged, and recorded in why_not.
 */
must_check int planting_plant(struct planting *p);

/*
 * The process is a copy that is watched already (link_open_slot): what is planned is in its memory, mostly;
 * the next planting_plant plants the rest. 0 or -errno.
 */
must_check int planting_adopt(struct planting *p);

/* All traps were lifted: the next planting_plant plants them again. */
void planting_again(struct planting *p);

/* Modules were unmapped: forget their sites. 0 or -errno. */
must_check int planting_forget_gone(struct planting *p);

/* The target exec'ed: nothing is planted any more. @mem: its new memory. */
void planting_forget_all(struct planting *p, int mem);

/*
 * Plant a trap at return address @ret for calls entered at site @entry. 0; -EILSEQ and others: impossible,
 * which the keeper knows from now on, until modules come or go; -ENOMEM, -EPIPE, -ETIMEDOUT: not now.
 */
must_check int planting_return(struct planting *p, taddr ret, uint32_t entry);

/* Is any probe watched that is not only a scope? */
bool planting_any(const struct planting *p);

/*
 * The caller of the function that returns to @ret: the wrapper of this family of sites that has @ret in its
 * body (and has no traps of its own), or NO_PROBE.
 */
uint32_t planting_wrapper_at(const struct planting *p, taddr ret, uint16_t family);

#endif
