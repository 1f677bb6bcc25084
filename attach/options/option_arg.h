/* SPDX-License-Identifier: MIT */
/* option_arg: what the handlers of options need to take an argument, or to refuse it. */
#ifndef MM_OPTION_ARG_H
#define MM_OPTION_ARG_H

#include <stdbool.h>

#include "attach/options/options.h"

/* What is wrong, for `return usage_refuse(...)`: -EINVAL. */
int usage_refuse(struct usage_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Behind it: what to do about it; -EINVAL. */
int usage_advise(struct usage_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A plain number of at most @max. */
bool option_number(const char *s, unsigned long max, unsigned long *out);

/* One more of an option that may be given again. 0 or -ENOMEM. */
must_check int option_add(struct option_list *list, const char *arg);

#endif
