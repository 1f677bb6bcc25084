/* SPDX-License-Identifier: MIT */
/* suppress: see suppress.h. The list of entries, and what each was used for. */
#include "report/suppress/suppress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fdio.h"
#include "report/suppress/suppress_entry.h"
#include "report/suppress/suppress_parse.h"

#define FILE_MAX (16 << 20)

struct suppressions {
	struct suppress_entry *all;
	size_t n, size;
};

int suppressions_new(struct suppressions **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void suppressions_free(struct suppressions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		suppress_entry_fini(&s->all[i]);
	free(s->all);
	free(s);
}

static int take(void *ctx, struct suppress_entry *e)
{
	struct suppressions *s = ctx;

	if (s->n == s->size) {
		size_t size = s->size ? 2 * s->size : 16;
		struct suppress_entry *grown = reallocarray(s->all, size, sizeof(*grown));

		if (!grown) {
			suppress_entry_fini(e);
			return -ENOMEM;
		}
		s->all = grown;
		s->size = size;
	}
	s->all[s->n++] = *e;
	return 0;
}

int suppressions_parse(struct suppressions *s, const char *name, const char *text, size_t n, char *why,
		       size_t why_size)
{
	return suppress_parse(name, text, n, why, why_size, take, s);
}

int suppressions_read(struct suppressions *s, const char *path, char *why, size_t why_size)
{
	cleanup_free char *text = NULL;
	size_t n;
	int r = read_whole_file(path, FILE_MAX, &text, &n);

	if (r < 0) {
		snprintf(why, why_size, "%s: %s", path, strerror(-r));
		return r;
	}
	return suppressions_parse(s, path, text, n, why, why_size);
}

size_t suppressions_find(const struct suppressions *s, enum suppress_kind kind, enum verdict verdict,
			 const struct summary_frame *frames, size_t n)
{
	for (size_t i = 0; s && i < s->n; i++)
		if (suppress_entry_means(&s->all[i], kind, verdict, frames, n))
			return i;
	return SUPPRESSIONS_NONE;
}

void suppressions_count(struct suppressions *s, size_t entry, uint64_t groups, uint64_t blocks,
			uint64_t bytes)
{
	s->all[entry].groups += groups;
	s->all[entry].blocks += blocks;
	s->all[entry].bytes += bytes;
}

bool suppressions_match(struct suppressions *s, enum suppress_kind kind, enum verdict verdict,
			const struct summary_frame *frames, size_t n, uint64_t blocks, uint64_t bytes)
{
	const size_t entry = suppressions_find(s, kind, verdict, frames, n);

	if (entry == SUPPRESSIONS_NONE)
		return false;
	suppressions_count(s, entry, 1, blocks, bytes);
	return true;
}

void suppressions_report(const struct suppressions *s, struct summary *to)
{
	for (size_t i = 0; s && i < s->n; i++) {
		const struct suppress_entry *e = &s->all[i];
		struct summary_suppression used = { e->name, e->where, e->groups, e->blocks, e->bytes };

		if (e->groups || e->blocks)
			summary_add_suppression(to, &used);
	}
}
