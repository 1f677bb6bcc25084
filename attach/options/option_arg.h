/* SPDX-License-Identifier: MIT */
/* option_arg: helpers of the options' handlers, to parse an argument or refuse it. */
#ifndef MM_OPTION_ARG_H
#define MM_OPTION_ARG_H

#include <stdbool.h>

#include "attach/options/options.h"
#include "base/nearest.h"

/* What an argument may be, for the table and the handler; in the order of their enum, if there is one. */
#define SIZES_VALUES "usable|exact"
#define UNWINDER_VALUES "cfi|dwfl|libunwind|check"
#define SCRIPT_VALUES "auto|off"
#define VERDICTS_VALUES "auto|yes|no"
#define COLOR_VALUES "auto|always|never"
#define WRAPPERS_VALUES "skip|show"
#define ON_TRACE_ERROR_VALUES "go-on|end"
#define BUDGET_OF_VALUES "each|all"
#define BY_VALUES "group|process"
#define IMPORT_VALUES "mmleak|mtrace"
#define FORMATS_VALUES "json|csv|schema"

/* Say what is wrong; returns -EINVAL, for `return usage_refuse(...)`. */
int usage_refuse(struct usage_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* After usage_refuse: say what to do about it; returns -EINVAL. */
int usage_advise(struct usage_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Likewise: ask whether the nearest name was meant; if none is near, the hint is left as it is. */
int usage_suggest(struct usage_error *err, const char *before, const struct nearest *near);

/*
 * Which of @values ("auto|yes|no") @arg is: its number into @which. 0, or -EINVAL with @err filled. @option
 * is as it is shown: "--verdicts".
 */
must_check int option_choose(const char *option, const char *values, const char *arg, unsigned *which,
			     struct usage_error *err);

/* A plain number of at most @max. */
bool option_number(const char *s, unsigned long max, unsigned long *out);

/* A number of bytes: "4096", "64K", "2G". 0, or -EINVAL with @err filled. */
must_check int option_size(const char *option, const char *arg, uint64_t *bytes, struct usage_error *err);

/* Add an argument of an option that may be given again. 0 or -ENOMEM. */
must_check int option_add(struct option_list *list, const char *arg);

#endif
