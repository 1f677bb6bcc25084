/* SPDX-License-Identifier: MIT */
/* option_rules: the handlers of the options on what to watch. For option_table.c. */
#ifndef MM_OPTION_RULES_H
#define MM_OPTION_RULES_H

#include "attach/options/options.h"

int option_family(struct options *o, const char *arg, struct usage_error *err);
int option_growth(struct options *o, const char *arg, struct usage_error *err);
int option_probe(struct options *o, const char *arg, struct usage_error *err);
int option_probes(struct options *o, const char *arg, struct usage_error *err);
int option_ref(struct options *o, const char *arg, struct usage_error *err);
int option_from(struct options *o, const char *arg, struct usage_error *err);
int option_until(struct options *o, const char *arg, struct usage_error *err);
int option_in(struct options *o, const char *arg, struct usage_error *err);

int option_thread(struct options *o, const char *arg, struct usage_error *err);
int option_module(struct options *o, const char *arg, struct usage_error *err);

#endif
