/* SPDX-License-Identifier: MIT */
/* options_check: what was parsed, word by word, must make sense together. */
#ifndef MM_OPTIONS_CHECK_H
#define MM_OPTIONS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/options/options.h"

/* @used: a bit for each line of option_table that was given. 0, or -EINVAL with @err filled. */
must_check int options_check(const struct options *o, uint64_t used, struct usage_error *err);

/* As it is written; "watching" for what has no word. */
const char *options_command_name(enum command c);

/* Are the words behind it names of files? */
bool command_takes_files(enum command c);

#endif
