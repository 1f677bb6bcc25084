/* SPDX-License-Identifier: MIT */
/*
 * formats_cmd: `mmattach formats`: the list of the forms of a report (report/formats.h); or, of one, what is
 * in it, as the tables of report/fields have it.
 */
#ifndef MM_FORMATS_CMD_H
#define MM_FORMATS_CMD_H

#include <stdio.h>

#include "attach/options/options.h"

/* The exit status. */
int formats_cmd(enum formats_kind kind, FILE *out);

#endif
