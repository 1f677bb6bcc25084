/* SPDX-License-Identifier: MIT */
/* option_arg: helpers of the options' handlers, to parse an argument or refuse it. */
#ifndef MM_OPTION_ARG_H
#define MM_OPTION_ARG_H

#include <stdbool.h>

#include "attach/options/options.h"

/* Say what is wrong; returns -EINVAL, for `return usage_refuse(...)`. */
int usage_refuse(struct usage_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* After usage_refuse: say what to do about it; returns -EINVAL. */
int usage_advise(struct usage_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A plain number of at most @max. */
bool option_number(const char *s, unsigned long max, unsigned long *out);

/* Add an argument of an option that may be given again. 0 or -ENOMEM. */
must_check int option_add(struct option_list *list, const char *arg);

#endif
