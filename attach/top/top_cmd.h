/* SPDX-License-Identifier: MIT */
/* top_cmd: `mmattach top`: the live view of a trace, or of a process, which another mmattach watches. */
#ifndef MM_TOP_CMD_H
#define MM_TOP_CMD_H

#include "attach/options/options.h"

/* @argv: our command line. The exit status. */
int top_cmd(const struct options *opt, int argc, char **argv);

#endif
