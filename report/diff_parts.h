/* SPDX-License-Identifier: MIT */
/* diff_parts: what the files of the difference have in common; for them alone. */
#ifndef MM_DIFF_PARTS_H
#define MM_DIFF_PARTS_H

#include "base/cleanup.h"
#include "report/diff.h"

/* What makes two stacks the same, as text. */
void diff_key_frames(struct strbuf *sb, const struct summary_frame *frames, size_t n);

/* Fill in d->refs. 0 or -ENOMEM. */
must_check int diff_refs_make(struct diff *d);

/* "529 dict objects, 20 more than before (509)" of each such family; @separator stands before the first. */
void diff_text_refs_answer(struct strbuf *sb, const struct diff *d, const char *separator);

/* The table of objects, and the most suspect places of those that grew; @top of them, 0: all. */
void diff_text_refs(struct strbuf *sb, const struct diff *d, size_t top);

#endif
