/* SPDX-License-Identifier: MIT */
/*
 * probes_json: what `mmattach probes --json` prints about a process, for programs:
 *
 *	{ "mmattach": {version, schema}, "target": {pid, comm, exe},
 *	  "plans":    [{module, build_id, function, op, rule, family, plan, stops, reason,
 *	                entry: {offset, address},
 *	                sites: [{offset, address, kind, return, instruction, how}]}],
 *	  "families": [{name, functions, module}] }
 *
 * plan: "exits", "entry", "entry-exits", "entry-return", "wrapper", or "none": then reason says why the
 * function is not watched, there are no sites, and there may be no entry (null). stops: how often a call
 * stops its thread on the usual path. kind: "entry", "exit", "scope"; return: the return address gets a trap
 * too, when it is first seen. offset is the address as in the module's ELF file. family is null for scopes
 * (--in, --from, --until). families: those that could be watched in the process.
 */
#ifndef MM_PROBES_JSON_H
#define MM_PROBES_JSON_H

#include <stdio.h>

#include "attach/cli/offers.h"
#include "attach/probes/plan.h"
#include "attach/rules/rulefile.h"
#include "attach/target/modules.h"
#include "attach/target/target.h"
#include "base/cleanup.h"
#include "base/strbuf.h"

struct probes_json {
	struct strbuf sb;	/* the owner calls strbuf_fini */
	size_t nplans;
	bool has_families;
};

void probes_json_begin(struct probes_json *j, const struct target_info *t);
void probes_json_module(struct probes_json *j, const struct ruleset *rs, const struct module *m,
			struct decoder *d, const struct plan_set *set);
void probes_json_offers(struct probes_json *j, const struct offers *offers);	/* once, after the modules */

/* Print it. 0 or -ENOMEM. */
must_check int probes_json_end(struct probes_json *j, FILE *out);

#endif
