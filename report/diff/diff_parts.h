/* SPDX-License-Identifier: MIT */
/* diff_parts: what the files of the difference have in common; for them alone. */
#ifndef MM_DIFF_PARTS_H
#define MM_DIFF_PARTS_H

#include "base/cleanup.h"
#include "report/diff/diff.h"

/* What makes two stacks the same, as text. */
void diff_key_stack(struct strbuf *sb, const struct stack_view *stack);

/* Fill in d->refs. 0 or -ENOMEM. */
must_check int diff_refs_make(struct diff *d);

/* Things of both sides, found to be the same by a text. */
struct diff_side {
	char *key;
	const void *what;
	bool is_new;
	size_t order;		/* among all, as they were added */
};

struct diff_sides {
	struct diff_side *all;
	size_t n, size;
};

must_check int diff_sides_init(struct diff_sides *s, size_t size);	/* room for so many. 0 or -ENOMEM */
void diff_sides_fini(struct diff_sides *s);

/* @key is taken over. 0; -ENOMEM for NULL. */
must_check int diff_sides_add(struct diff_sides *s, char *key, const void *what, bool is_new);

/* The same next to each other; of these the new side first, and in it the one that was added first. */
void diff_sides_sort(struct diff_sides *s);

#endif
