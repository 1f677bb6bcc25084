/* SPDX-License-Identifier: MIT */
/* option_many: options that choose processes, and what cannot be asked of several. */
#ifndef MM_OPTION_MANY_H
#define MM_OPTION_MANY_H

#include <stdbool.h>

#include "attach/options/options.h"

/* Handlers, for the table. */
int option_pid(struct options *o, const char *arg, struct usage_error *err);
int option_tree(struct options *o, const char *arg, struct usage_error *err);
int option_cgroup(struct options *o, const char *arg, struct usage_error *err);
int option_unit(struct options *o, const char *arg, struct usage_error *err);
int option_container(struct options *o, const char *arg, struct usage_error *err);
int option_budget_of(struct options *o, const char *arg, struct usage_error *err);

/* How many are given of: a tree, a cgroup, a unit, a container. */
int option_many_groups(const struct options *o);

/* Does the command line ask for several processes, or may it become several? */
bool option_many_wanted(const struct options *o);

must_check int option_many_check(const struct options *o, struct usage_error *err);

#endif
