/* SPDX-License-Identifier: MIT */
/*
 * probes_json: what `mmattach probes --json` prints about a process, for programs: how each function is watched, and
 * which families could be. The tables of its members are in probes_json.c.
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
#include "report/fields/field.h"

/* Of the whole (report/fields/field.h). */
extern const struct fields fields_probes;

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
