/* SPDX-License-Identifier: MIT */
/*
 * probes_cmd: `mmattach probes`: lists the rules; for a process also where their traps would go, how a thread
 * gets past each trap, and what a call would cost, as text or JSON. It only reads, and leaves the process
 * untouched.
 */
#ifndef MM_PROBES_CMD_H
#define MM_PROBES_CMD_H

#include <stdio.h>

#include "attach/options/options.h"
#include "base/cleanup.h"

/* The exit status. */
must_check int probes_cmd(const struct options *opt, FILE *out);

#endif
