/* SPDX-License-Identifier: MIT */
/* option_verdicts: handlers of the options on what is still reached, and what finding it out may cost (see option_table.h). */
#ifndef MM_OPTION_VERDICTS_H
#define MM_OPTION_VERDICTS_H

#include "attach/options/options.h"

/* Why there are none. */
#define VERDICTS_UNDER_GDB "gdb is the tracer, and only a tracer can stop the process as a whole and let it go again as it was"

int option_verdicts(struct options *o, const char *arg, struct usage_error *err);
int option_max_pause(struct options *o, const char *arg, struct usage_error *err);

#endif
