/* SPDX-License-Identifier: MIT */
#include "report/json/json_object.h"

#include <string.h>

#include "report/fields/fields.h"
#include "report/json/json.h"
#include "report/json/json_frames.h"
#include "report/json/json_value.h"

struct writer {
	struct strbuf *sb;
	struct json_frames *frames;
	unsigned format;	/* FIELD_JSON, FIELD_PAGE */
	unsigned depth;
};

static void put_object(const struct writer *w, const struct fields *f, const struct field_source *c,
		       const void *object);

static struct writer deeper(const struct writer *w)
{
	struct writer inner = *w;

	inner.depth++;
	return inner;
}

static void next_line(const struct writer *w, size_t i)
{
	strbuf_puts(w->sb, i ? ",\n" : "\n");
	strbuf_pad(w->sb, ' ', 2 * (size_t)w->depth);
}

static void put_list(const struct writer *w, const struct field_source *c, const void *owner,
		     const struct field *f,
		     const struct field_list *list)
{
	const struct writer inner = deeper(w);
	struct field_source within = *c;
	size_t n = 0;

	within.owner = owner;
	strbuf_putc(w->sb, '[');
	for (size_t i = 0; i < list->n; i++) {
		const void *element = field_element(c, list, i);

		if (!element)
			continue;
		next_line(&inner, n++);
		put_object(&inner, f->of, &within, element);
	}
	strbuf_putc(w->sb, ']');
}

static void put_stack(const struct writer *w, const struct field_source *c, const struct stack_view *stack)
{
	const struct writer inner = deeper(w);

	strbuf_putc(w->sb, '[');
	for (size_t i = 0; i < stack->depth; i++) {
		if (w->frames) {
			strbuf_puts(w->sb, i ? "," : "");
			json_frames_number(w->frames, w->sb, &stack->frames[i]);
			continue;
		}
		next_line(&inner, i);
		put_object(&inner, &fields_frame, c, &stack->frames[i]);
	}
	strbuf_putc(w->sb, ']');
}

static void put_value(const struct writer *w, const struct field_source *c, const void *owner,
		      const struct field *f,
		      const struct field_value *v)
{
	const struct writer inner = deeper(w);

	switch (f->type) {
	case FIELD_OBJECT:
	case FIELD_OBJECT_OR_NULL:
		if (v->object)
			put_object(&inner, f->of, c, v->object);
		else
			strbuf_puts(w->sb, "null");
		break;
	case FIELD_LIST:
		put_list(w, c, owner, f, &v->list);
		break;
	case FIELD_STACK:
		put_stack(w, c, v->object);
		break;
	default:
		json_value(w->sb, f, v, w->frames);
	}
}

static void put_members(const struct writer *w, const struct fields *f, const struct field_source *c,
			const void *object)
{
	const char *separator = "{";

	for (size_t i = 0; i < f->n; i++) {
		struct field_value v;

		if (!(f->all[i].in & w->format))
			continue;
		field_get(f, c, object, i, &v);
		if (!v.absent) {
			json_key(w->sb, separator, f->all[i].key);
			put_value(w, c, object, &f->all[i], &v);
			separator = w->depth ? ", " : ",\n";
		}
		w->sb->err = w->sb->err ? w->sb->err : strbuf_error(&v.made);
		field_value_fini(&v);
	}
}

static void put_object(const struct writer *w, const struct fields *f, const struct field_source *c,
		       const void *object)
{
	put_members(w, f, c, object);
	strbuf_putc(w->sb, '}');
}

void json_object_open(struct strbuf *sb, const struct fields *f, const struct field_source *c,
		      const void *object,
		      struct json_frames *frames)
{
	const struct writer w = { sb, frames, frames ? FIELD_PAGE : FIELD_JSON, 0 };

	put_members(&w, f, c, object);
}

void json_object(struct strbuf *sb, const struct fields *f, const struct field_source *c, const void *object,
		 struct json_frames *frames)
{
	json_object_open(sb, f, c, object, frames);
	strbuf_putc(sb, '}');
}

void json_object_line(struct strbuf *sb, const struct fields *f, const struct field_source *c,
		      const void *object)
{
	const struct writer w = { sb, NULL, FIELD_JSON, 1 };

	put_object(&w, f, c, object);
}
