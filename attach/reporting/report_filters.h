/* SPDX-License-Identifier: MIT */
/* report_filters: the options that leave out a part of a report, in words, for the line that names them. */
#ifndef MM_REPORT_FILTERS_H
#define MM_REPORT_FILTERS_H

#include "attach/options/options.h"
#include "base/strbuf.h"

/* "--focus cache_, --older-than 2s": appended to @out; nothing if there is no such option. */
void report_filters_text(const struct options *opt, struct strbuf *out);

#endif
