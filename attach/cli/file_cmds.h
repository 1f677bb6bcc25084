/* SPDX-License-Identifier: MIT */
/*
 * file_cmds: the commands that need no process: report, diff, shrink, merge, import.
 */
#ifndef MM_FILE_CMDS_H
#define MM_FILE_CMDS_H

#include "attach/options/options.h"

/* Carry out opt->command, which is one of these. Returns the program's exit status. */
int file_cmd(const struct options *opt);

#endif
