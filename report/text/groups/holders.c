/* SPDX-License-Identifier: MIT */
#include "report/text/groups/holders.h"

#include <errno.h>
#include <stdlib.h>

/* Where the holders of each group begin, with room for all of them; their number, or 0. */
static size_t find_places(const struct summary *s, size_t *first)
{
	for (size_t i = 0; i < s->ngroups; i++)
		for (size_t k = 0; k < s->groups[i].nhangs; k++)
			first[summary_index(s, s->groups[i].hangs[k].serial) + 1]++;
	for (size_t i = 0; i < s->ngroups; i++)
		first[i + 1] += first[i];
	return first[s->ngroups];
}

static void fill(const struct summary *s, struct holders *h, size_t *next)
{
	for (size_t i = 0; i < s->ngroups; i++)
		for (size_t k = 0; k < s->groups[i].nhangs; k++) {
			const struct summary_hang *hang = &s->groups[i].hangs[k];

			h->all[next[summary_index(s, hang->serial)]++] = (struct holder){ i, hang };
		}
}

int holders_make(const struct summary *s, struct holders *h)
{
	cleanup_free size_t *next = calloc(s->ngroups + 1, sizeof(*next));

	*h = (struct holders){ NULL, calloc(s->ngroups + 1, sizeof(*h->first)) };
	if (!next || !h->first)
		return -ENOMEM;
	h->all = calloc(find_places(s, h->first) + 1, sizeof(*h->all));
	if (!h->all)
		return -ENOMEM;
	for (size_t i = 0; i < s->ngroups; i++)
		next[i] = h->first[i];
	fill(s, h, next);
	return 0;
}

void holders_fini(struct holders *h)
{
	free(h->all);
	free(h->first);
	*h = (struct holders){ NULL, NULL };
}
