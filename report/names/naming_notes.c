/* SPDX-License-Identifier: MIT */
/* naming_notes: see naming_notes.h. */
#include "report/names/naming_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

#define PATHS_MAX 8	/* listed in one note; the others are counted */
#define WHY_MAX 200

struct naming_note {
	enum naming_lack lack;
	char why[WHY_MAX];
	struct strbuf paths;
	size_t n;
};

static struct naming_note *find(struct naming_notes *n, enum naming_lack lack, const char *why)
{
	for (size_t i = 0; i < n->n; i++) {
		if (n->v[i].lack == lack && !strcmp(n->v[i].why, why))
			return &n->v[i];
	}
	return NULL;
}

static struct naming_note *add(struct naming_notes *n, enum naming_lack lack, const char *why)
{
	struct naming_note *v = reallocarray(n->v, n->n + 1, sizeof(*v)), *note;

	if (!v)
		return NULL;
	n->v = v;
	note = &v[n->n++];
	*note = (struct naming_note){ .lack = lack, .paths = STRBUF_INIT };
	strcpy(note->why, why);
	return note;
}

int naming_notes_add(struct naming_notes *n, enum naming_lack lack, const char *path, const char *why)
{
	struct naming_note *note;
	char text[WHY_MAX];

	snprintf(text, sizeof(text), "%s", why);
	note = find(n, lack, text);
	if (!note)
		note = add(n, lack, text);
	if (!note)
		return -ENOMEM;
	if (note->n++ < PATHS_MAX)
		strbuf_printf(&note->paths, "%s%s", note->paths.len ? ", " : "", path);
	return strbuf_error(&note->paths);
}

static void compose(const struct naming_note *note, struct strbuf *sb)
{
	strbuf_puts(sb, note->lack == NAMING_NONE ? "no names for " : "names for ");
	strbuf_puts(sb, strbuf_str(&note->paths));
	if (note->n > PATHS_MAX)
		strbuf_printf(sb, " and %zu more", note->n - PATHS_MAX);
	if (note->lack == NAMING_PARTLY)
		strbuf_puts(sb, " are not complete");
	if (note->lack == NAMING_DOUBTFUL)
		strbuf_puts(sb, " may be wrong");
	strbuf_printf(sb, ": %s", note->why);
}

int naming_notes_put(const struct naming_notes *n, int (*put)(void *ctx, const struct fact *f), void *ctx)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	struct fact f = { .kind = MMT_INFO, .info = MMT_NOTE };
	int r = 0;

	for (size_t i = 0; i < n->n && r == 0; i++) {
		strbuf_reset(&sb);
		compose(&n->v[i], &sb);
		f.note = strbuf_str(&sb);
		r = strbuf_error(&sb) ? -ENOMEM : put(ctx, &f);
	}
	return r;
}

void naming_notes_fini(struct naming_notes *n)
{
	for (size_t i = 0; i < n->n; i++)
		strbuf_fini(&n->v[i].paths);
	free(n->v);
	*n = (struct naming_notes)NAMING_NOTES_INIT;
}
