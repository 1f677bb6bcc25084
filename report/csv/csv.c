/* SPDX-License-Identifier: MIT */
/* csv: see csv.h. */
#include "report/csv/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/csv/csv_cell.h"
#include "report/fields/visit.h"

/* --- columns --- */

/* The number of cells of a kind, those of flat objects among them. */
static size_t count_cells(const struct fields *f, unsigned in)
{
	size_t n = 0;

	for (size_t i = 0; f && i < f->n; i++)
		if (f->all[i].in & in)
			n += f->all[i].of ? count_cells(f->all[i].of, in) : csv_cell_count(f->all[i].type);
	return n;
}

/* The number of the column with that head, which is added if there is none yet; -1: memory is short. */
static ssize_t find_column(struct csv_table *t, const struct field *f, const struct strbuf *head)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(strbuf_str(&t->columns[i].head), strbuf_str(head)))
			return (ssize_t)i;
	if (strbuf_error(head) || grow_for(&t->columns, t->n, &t->size, sizeof(*t->columns)))
		return -1;
	t->columns[t->n] = (struct csv_column){ STRBUF_INIT, f };
	strbuf_puts(&t->columns[t->n].head, strbuf_str(head));
	return (ssize_t)t->n++;
}

/* The columns of @f, from the @n-th cell of the kind on; returns the number of the next cell, or -1. */
static ssize_t add_columns(struct csv_table *t, const struct fields *f, const char *prefix, size_t *places,
			   ssize_t n);

static ssize_t add_cells(struct csv_table *t, const struct field *f, const char *prefix, size_t *places,
			 ssize_t n)
{
	for (size_t i = 0; i < csv_cell_count(f->type); i++) {
		cleanup_strbuf struct strbuf head = STRBUF_INIT;
		ssize_t at;

		strbuf_printf(&head, "%s%s%s", prefix, f->type == FIELD_STACK ? "" : f->key,
			      csv_cell_suffix(f->type, i));
		at = find_column(t, f, &head);
		if (at < 0)
			return -1;
		places[n++] = (size_t)at;
	}
	return n;
}

static ssize_t add_columns(struct csv_table *t, const struct fields *f, const char *prefix, size_t *places,
			   ssize_t n)
{
	for (size_t i = 0; i < f->n && n >= 0; i++) {
		const struct field *its = &f->all[i];
		cleanup_strbuf struct strbuf inner = STRBUF_INIT;

		if (!(its->in & t->in))
			continue;
		strbuf_printf(&inner, "%s%s", prefix, its->prefix ? its->prefix : "");
		if (its->of)
			n = add_columns(t, its->of, strbuf_str(&inner), places, n);
		else
			n = add_cells(t, its, prefix, places, n);
	}
	return n;
}

static int add_kind(struct csv_table *t, unsigned kind, const struct fields *f)
{
	t->kinds[kind] = f;
	t->places[kind] = calloc(count_cells(f, t->in) + 1, sizeof(*t->places[kind]));
	if (!t->places[kind])
		return -ENOMEM;
	return f && add_columns(t, f, "", t->places[kind], 0) < 0 ? -ENOMEM : 0;
}

int csv_init(struct csv_table *t, unsigned in, const struct fields *a, const struct fields *b)
{
	int r;

	*t = (struct csv_table){ .in = in };
	r = add_kind(t, 0, a);
	r = r ? r : add_kind(t, 1, b);
	t->cells = r ? NULL : calloc(t->n + 1, sizeof(*t->cells));
	return r || t->cells ? r : -ENOMEM;
}

void csv_fini(struct csv_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		strbuf_fini(&t->columns[i].head);
		if (t->cells)
			strbuf_fini(&t->cells[i]);
	}
	for (unsigned kind = 0; kind < CSV_KINDS; kind++)
		free(t->places[kind]);
	free(t->columns);
	free(t->cells);
}

void csv_describe(const struct csv_table *t, struct strbuf *sb)
{
	for (size_t i = 0; i < t->n; i++)
		field_describe(sb, strbuf_str(&t->columns[i].head), t->columns[i].field);
}

/* --- lines --- */

static void end_line(struct strbuf *sb)
{
	strbuf_puts(sb, "\r\n");
}

void csv_head(struct csv_table *t, struct strbuf *sb)
{
	for (size_t i = 0; i < t->n; i++)
		strbuf_printf(sb, "%s%s", i ? "," : "", strbuf_str(&t->columns[i].head));
	end_line(sb);
}

/*
 * @place: the columns of the cells of @object, which may be NULL: then they are empty. Returns those behind
 * them.
 */
static const size_t *fill(struct csv_table *t, const struct field_source *c, const struct fields *f,
			  const void *object, const size_t *place)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct field *its = &f->all[i];
		struct field_value v = { .absent = true };

		if (!(its->in & t->in))
			continue;
		if (object)
			field_get(f, c, object, i, &v);
		if (its->of)
			place = fill(t, c, its->of, v.absent ? NULL : v.object, place);
		for (size_t k = 0; !its->of && k < csv_cell_count(its->type); k++)
			csv_cell(&t->cells[*place++], its, &v, k);
		field_value_fini(&v);
	}
	return place;
}

void csv_line(struct csv_table *t, const struct field_source *c, unsigned kind, const void *object,
	      struct strbuf *sb)
{
	fill(t, c, t->kinds[kind], object, t->places[kind]);
	for (size_t i = 0; i < t->n; i++) {
		strbuf_puts(sb, i ? "," : "");
		strbuf_append(sb, strbuf_str(&t->cells[i]), t->cells[i].len);
		sb->err = sb->err ? sb->err : strbuf_error(&t->cells[i]);
		strbuf_reset(&t->cells[i]);
	}
	end_line(sb);
}
