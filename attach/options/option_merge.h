/* SPDX-License-Identifier: MIT */
/* option_merge: the handlers of the options on several processes in one trace; for option_table. */
#ifndef MM_OPTION_MERGE_H
#define MM_OPTION_MERGE_H

#include "attach/options/options.h"

int option_label(struct options *o, const char *arg, struct usage_error *err);
int option_by(struct options *o, const char *arg, struct usage_error *err);

/* What can only be said of the whole command line. 0, or -EINVAL with @err filled. */
int option_merge_check(const struct options *o, struct usage_error *err);

#endif
