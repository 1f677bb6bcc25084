/* SPDX-License-Identifier: MIT */
/* option_engine: --engine, --sample, and what they cannot be combined with. */
#ifndef MM_OPTION_ENGINE_H
#define MM_OPTION_ENGINE_H

#include <stdbool.h>

#include "attach/options/options.h"

must_check int option_engine(struct options *o, const char *arg, struct usage_error *err);
must_check int option_sample(struct options *o, const char *arg, struct usage_error *err);
must_check int option_engine_check(const struct options *o, struct usage_error *err);

/* What the options ask for that the kernel's probes cannot do, or NULL. */
const char *option_engine_why_not(const struct options *o);

/* The rules may ask for what it cannot do, too. @inside: --in, or an `in` rule. 0, or -EINVAL (logged). */
must_check int option_engine_check_rules(const struct options *o, bool inside);

/* "ptrace", "uprobe" in whatever way, "auto"; NULL: no engine was named. */
const char *option_engine_asked(const struct options *o);

/* The way that --engine asks for: "session", "multi", "perf"; NULL: any. */
const char *option_engine_way(const struct options *o);

#endif
