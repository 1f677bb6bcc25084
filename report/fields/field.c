/* SPDX-License-Identifier: MIT */
#include "report/fields/field.h"

#include <string.h>

void field_get(const struct fields *f, const struct field_source *c, const void *object, size_t at,
	       struct field_value *v)
{
	memset(v, 0, sizeof(*v));
	f->get(c, object, at, v);
}

void field_value_fini(struct field_value *v)
{
	strbuf_fini(&v->made);
}

const void *field_element(const struct field_source *c, const struct field_list *list, size_t i)
{
	if (list->at)
		return list->at(c, list->base, i);
	return (const char *)list->base + i * list->each;
}

static const struct {
	const char *schema, *word;
} types[] = {
#define X(name, schema, word) { schema, word },
	FIELD_TYPES(X)
#undef X
};

const char *field_type_schema(enum field_type type)
{
	return types[type].schema;
}

const char *field_type_word(enum field_type type)
{
	return types[type].word;
}
