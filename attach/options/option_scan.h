/* SPDX-License-Identifier: MIT */
/* option_scan: handlers of the options of `mmattach scan` (see option_table.h), and what must hold among them. */
#ifndef MM_OPTION_SCAN_H
#define MM_OPTION_SCAN_H

#include "attach/options/options.h"

int option_core(struct options *o, const char *arg, struct usage_error *err);
int option_exe(struct options *o, const char *arg, struct usage_error *err);
int option_who_points_at(struct options *o, const char *arg, struct usage_error *err);
int option_show(struct options *o, const char *arg, struct usage_error *err);
int option_with_trace(struct options *o, const char *arg, struct usage_error *err);

/* 0, or -EINVAL with @err filled. */
must_check int option_scan_check(const struct options *o, struct usage_error *err);

#endif
