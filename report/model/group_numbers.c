/* SPDX-License-Identifier: MIT */
/* group_numbers: see group_numbers.h. */
#include "report/model/group_numbers.h"

#include <errno.h>
#include <stdlib.h>

#include "report/model/by_stack.h"
#include "report/model/refs_merge.h"
#include "report/model/text_parts.h"

/* By the indices of groups in the view, where the families' groups follow one another in the same order. */
static int number_groups(const struct summary *s, struct group_numbers *e)
{
	struct by_stack by_stack;
	struct text_part part;
	int r = by_stack_make(s, &by_stack);

	for (size_t p = 0; p < text_parts(s) && r == 0; p++) {
		text_part(&by_stack.view, p, &part);
		if (part.family.refs)
			continue;
		e->count[p] = part.n;
		for (size_t i = 0; i < s->ngroups; i++)
			if (by_stack.index_of[i] >= part.first && by_stack.index_of[i] < part.first + part.n)
				e->of_group[i] = by_stack.index_of[i] - part.first + 1;
	}
	by_stack_fini(&by_stack);
	return r;
}

/* If groups were merged, all groups of the signature get the same number. */
static void number_refs(const struct summary *s, const struct text_part *part,
			const struct merged_refs *entry, size_t number, size_t *of_refs)
{
	if (entry->nnets < 2)
		of_refs[part->first + entry->order] = number;
	for (size_t i = part->first; entry->nnets > 1 && i < part->first + part->n; i++)
		if (s->refs[i].signature == entry->refs.signature)
			of_refs[i] = number;
}

static int number_merged(const struct summary *s, const struct text_part *part, struct group_numbers *e,
			 size_t *count)
{
	struct merged_refs *all = NULL;
	int r = refs_merge(s, part->first, part->n, &all, count);

	for (size_t i = 0; i < *count && r == 0; i++)
		number_refs(s, part, &all[i], i + 1, e->of_refs);
	refs_merge_fini(all, all ? *count : 0);
	return r;
}

int group_numbers_make(const struct summary *s, struct group_numbers *out)
{
	struct text_part part;
	int r = 0;

	out->of_group = calloc(s->ngroups + 1, sizeof(*out->of_group));
	out->of_refs = calloc(s->nrefs + 1, sizeof(*out->of_refs));
	out->count = calloc(text_parts(s), sizeof(*out->count));
	if (!out->of_group || !out->of_refs || !out->count)
		return -ENOMEM;
	for (size_t i = 0; i < text_parts(s) && r == 0; i++) {
		text_part(s, i, &part);
		if (part.family.refs)
			r = number_merged(s, &part, out, &out->count[i]);
	}
	return r < 0 ? r : number_groups(s, out);
}

void group_numbers_fini(struct group_numbers *e)
{
	free(e->of_group);
	free(e->of_refs);
	free(e->count);
	*e = (struct group_numbers){ 0 };
}
