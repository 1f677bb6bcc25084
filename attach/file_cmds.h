/* SPDX-License-Identifier: MIT */
/*
 * file_cmds: the commands that need no process: report, diff, shrink, import. Each gives the
 * program's exit status.
 */
#ifndef MM_FILE_CMDS_H
#define MM_FILE_CMDS_H

#include "attach/options.h"

int report_cmd(const struct options *opt);
int diff_cmd(const struct options *opt);
int shrink_cmd(const struct options *opt);
int import_cmd(const struct options *opt);

#endif
