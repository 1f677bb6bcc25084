/* SPDX-License-Identifier: MIT */
/* options_check: the options, each parsed alone, must make sense together. */
#ifndef MM_OPTIONS_CHECK_H
#define MM_OPTIONS_CHECK_H

#include <stdbool.h>

#include "attach/options/options.h"

/* @used: for each line of option_table whether it was given. 0, or -EINVAL with @err filled. */
must_check int options_check(const struct options *o, const bool *used, struct usage_error *err);

/* The command's word, of commands before COMMAND_HELP. */
const char *options_command_name(enum command c);

/* Are the words after the command names of files? */
bool command_takes_files(enum command c);

#endif
