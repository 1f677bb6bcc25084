/* SPDX-License-Identifier: MIT */
#include "report/fields/visit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define WIDTH 80u

static bool is_known(const struct fields_found *found, const struct fields *f)
{
	for (size_t i = 0; i < found->n; i++)
		if (found->all[i] == f)
			return true;
	return false;
}

static int add(struct fields_found *found, const struct fields *f)
{
	if (is_known(found, f))
		return 0;
	if (grow_for(&found->all, found->n, &found->size, sizeof(*found->all)))
		return -ENOMEM;
	found->all[found->n++] = f;
	return 0;
}

int fields_find(struct fields_found *found, const struct fields *root, unsigned in)
{
	const size_t first = found->n;
	int r = add(found, root);

	for (size_t i = first; i < found->n && r == 0; i++) {
		const struct fields *f = found->all[i];

		for (size_t k = 0; k < f->n && r == 0; k++)
			if (f->all[k].of && f->all[k].in & in)
				r = add(found, f->all[k].of);
	}
	return r;
}

void fields_found_fini(struct fields_found *found)
{
	free(found->all);
	*found = (struct fields_found){ 0 };
}

/* --- in words --- */

/* Words of @text, behind the @column characters that the line has; further lines are indented by two. */
static void put_wrapped(struct strbuf *sb, size_t column, const char *text)
{
	while (*text) {
		const size_t n = strcspn(text, " ");

		if (column + 1 + n > WIDTH) {
			strbuf_puts(sb, "\n ");
			column = 1;
		}
		strbuf_putc(sb, ' ');
		strbuf_append(sb, text, n);
		column += 1 + n;
		text += n + (text[n] == ' ');
	}
	strbuf_putc(sb, '\n');
}

static void put_words(struct strbuf *sb, const struct field *f)
{
	for (unsigned i = 0; f->words && i < f->words->n; i++)
		strbuf_printf(sb, "%s%s", i ? ", " : " Words: ", f->words->name(i));
	strbuf_puts(sb, f->words ? "." : "");
}

void field_describe(struct strbuf *sb, const char *head, const struct field *f)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const size_t from = sb->len;

	strbuf_printf(sb, "* `%s`", head);
	if (f->of)
		strbuf_printf(&text, "(%s%s%s", f->type == FIELD_LIST ? "list of " : "", f->of->name,
			      f->type == FIELD_OBJECT_OR_NULL ? " or null" : "");
	else
		strbuf_printf(&text, "(%s", field_type_word(f->type));
	strbuf_printf(&text, "%s): %s", f->in & FIELD_OPTIONAL ? ", optional" : "", f->what);
	put_words(&text, f);
	sb->err = sb->err ? sb->err : strbuf_error(&text);
	put_wrapped(sb, sb->len - from, strbuf_str(&text));
}

void fields_describe(struct strbuf *sb, const struct fields *fields, unsigned in)
{
	strbuf_printf(sb, "\n## %s\n\n%s\n\n", fields->name, fields->what);
	for (size_t i = 0; i < fields->n; i++)
		if (fields->all[i].in & in)
			field_describe(sb, fields->all[i].key, &fields->all[i]);
}
