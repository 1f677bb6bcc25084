/* SPDX-License-Identifier: MIT */
#include "report/text/groups/columns.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/format_text.h"

#define GAP 2	/* blanks between numbers and what begins at the left behind them */

static size_t find(const struct fields *of, const char *key)
{
	size_t i = 0;

	while (i < of->n && strcmp(of->all[i].key, key) != 0)
		i++;
	assert(i < of->n && of->all[i].width);
	return i;
}

struct column *columns_add(struct columns *t, const struct fields *of, const char *key)
{
	const size_t i = find(of, key);
	struct column *its = &t->all[t->n++];

	assert(t->n <= COLUMNS_MOST);
	*its = (struct column){ of, i, of->all[i].head, of->all[i].width };
	return its;
}

/* Before a text, and before the name, if a number is before it. */
static size_t gap_before(const struct columns *t, size_t i)
{
	const bool at_left = i == t->n ? !t->all_of_it : t->all[i].width < 0;

	return at_left && (i == 0 || t->all[i - 1].width > 0) ? GAP : 0;
}

size_t columns_width(const struct columns *t)
{
	size_t sum = gap_before(t, t->n);

	for (size_t i = 0; i < t->n; i++)
		sum += gap_before(t, i) + (size_t)abs(t->all[i].width);
	return sum;
}

void columns_heads(const struct columns *t, struct strbuf *sb)
{
	for (size_t i = 0; i < t->n; i++) {
		strbuf_pad(sb, ' ', gap_before(t, i));
		strbuf_printf(sb, "%*s", t->all[i].width, t->all[i].head);
	}
	strbuf_pad(sb, ' ', gap_before(t, t->n));
}

/* --- cells --- */

static void put_value(struct strbuf *cell, const struct field *f, const struct field_value *v)
{
	switch (f->type) {
	case FIELD_BYTES: format_size(cell, v->u); break;
	case FIELD_UINT:
	case FIELD_UINT_OR_NULL: strbuf_printf(cell, "%" PRIu64, v->u); break;
	case FIELD_INT:
	case FIELD_INT_OR_NULL: strbuf_printf(cell, "%" PRId64, v->i); break;
	case FIELD_SHARE: format_percent(cell, v->r, 1); break;
	case FIELD_SECONDS: format_seconds(cell, v->r); break;
	case FIELD_ADDRESS: strbuf_printf(cell, PRItaddr, v->u); break;
	case FIELD_WORD: strbuf_puts(cell, f->words->name((unsigned)v->u)); break;
	case FIELD_MADE: strbuf_puts(cell, strbuf_str(&v->made)); break;
	default: assert(!"a column of a type that has no cell");
	}
}

static void put_cell(const struct column *its, const struct field_source *c, const void *object,
		     struct strbuf *sb)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;
	struct field_value v;

	field_get(its->of, c, object, its->field, &v);
	if (!v.absent && !v.null)
		put_value(&cell, &its->of->all[its->field], &v);
	field_value_fini(&v);
	if (its->width > 0) {
		format_right(sb, &cell, (size_t)its->width);
	} else {
		format_left(sb, &cell, (size_t)-its->width - 1);
		strbuf_putc(sb, ' ');	/* also behind a text that is too long */
	}
}

void columns_cells(const struct columns *t, const struct field_source *c, const void *object,
		   struct strbuf *sb)
{
	for (size_t i = 0; i < t->n; i++) {
		strbuf_pad(sb, ' ', gap_before(t, i));
		put_cell(&t->all[i], c, object, sb);
	}
	strbuf_pad(sb, ' ', gap_before(t, t->n));
}
