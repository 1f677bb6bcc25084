/* SPDX-License-Identifier: MIT */
/*
 * probes_cmd: `mmattach probes`: the rules there are; of a process where their traps would go,
 * how each is got past, and what a call would cost, as text or JSON. Reads, touches nothing.
 */
#ifndef MM_PROBES_CMD_H
#define MM_PROBES_CMD_H

#include <stdio.h>

#include "attach/options/options.h"
#include "base/cleanup.h"

/* The exit status. */
must_check int probes_cmd(const struct options *opt, FILE *out);

#endif
