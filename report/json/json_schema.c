/* SPDX-License-Identifier: MIT */
#include "report/json/json_schema.h"

#include <string.h>

#include "base/verdict.h"
#include "report/fields/fields.h"
#include "report/fields/visit.h"
#include "report/json/json.h"

/* What types of fields refer to. */
static const char shared_definitions[] =
	" \"address\": {\"type\": \"string\", \"pattern\": \"^0x[0-9a-f]+$\"},\n"
	" \"time\": {\"type\": \"string\", \"description\": \"UTC, with milliseconds.\", \"pattern\": "
	"\"^-?[0-9]+-[0-9]{2}-[0-9]{2}T[0-9:]+\\\\.[0-9]{3}Z$|^\\\\.[0-9]{3}Z$\"},\n"
	" \"sum\": {\"type\": \"object\", \"properties\": {\"blocks\": {\"type\": \"integer\", \"minimum\": 0}, "
	"\"bytes\": {\"type\": \"integer\", \"minimum\": 0}}, \"required\": [\"blocks\", \"bytes\"]},\n"
	" \"interval\": {\"type\": \"array\", \"description\": \"A value, and between which two the true one lies in "
	"95 of 100 cases; null: not known, or not bounded.\", \"items\": {\"type\": [\"number\", \"null\"]}, "
	"\"minItems\": 3, \"maxItems\": 3},\n"
	" \"bounds\": {\"type\": \"array\", \"description\": \"Between which two the true value lies in 95 of 100 "
	"cases; null: not bounded.\", \"items\": {\"type\": [\"number\", \"null\"]}, \"minItems\": 2, \"maxItems\": "
	"2},\n"
	" \"series\": {\"type\": \"array\", \"description\": \"In time: seconds since the start of the watch, and "
	"bytes (of objects: references).\", \"items\": {\"type\": \"array\", \"prefixItems\": [{\"type\": "
	"\"number\"}, {\"type\": \"integer\"}], \"minItems\": 2, \"maxItems\": 2}},\n"
	" \"histogram\": {\"type\": \"array\", \"description\": \"From, blocks, bytes: of those from this one to "
	"twice of it. Empty ranges are left out.\", \"items\": {\"type\": \"array\", \"prefixItems\": [{\"type\": "
	"\"number\"}, {\"type\": \"integer\"}, {\"type\": \"integer\"}], \"minItems\": 3, \"maxItems\": 3}},\n"
	" \"stack\": {\"type\": \"array\", \"description\": \"Leaf first.\", \"items\": {\"$ref\": "
	"\"#/$defs/frame\"}},\n";

static void put_sums(struct strbuf *sb)
{
	strbuf_puts(sb, " \"sums\": {\"type\": \"object\", \"description\": \"By verdict.\", \"properties\": {");
	for (unsigned v = 0; v < VERDICT_COUNT; v++) {
		json_key(sb, v ? ", " : "", verdict_name(v));
		strbuf_puts(sb, "{\"$ref\": \"#/$defs/sum\"}");
	}
	strbuf_puts(sb, "}, \"required\": [");
	for (unsigned v = 0; v < VERDICT_COUNT; v++)
		strbuf_printf(sb, "%s\"%s\"", v ? ", " : "", verdict_name(v));
	strbuf_puts(sb, "]}");
}

/* --- a field --- */

static void put_words(struct strbuf *sb, const struct field *f)
{
	json_list(sb, "", "enum");
	for (unsigned i = 0; i < f->words->n; i++) {
		strbuf_puts(sb, i ? ", " : "");
		strbuf_json(sb, f->words->name(i));
	}
	strbuf_puts(sb, f->type == FIELD_WORD_OR_NULL ? ", null]" : "]");
}

static void put_reference(struct strbuf *sb, const struct field *f)
{
	switch (f->type) {
	case FIELD_LIST:
		strbuf_printf(sb, "\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/%s\"}", f->of->name);
		break;
	case FIELD_OBJECT_OR_NULL:
		strbuf_printf(sb, "\"anyOf\": [{\"$ref\": \"#/$defs/%s\"}, {\"type\": \"null\"}]", f->of->name);
		break;
	default:
		strbuf_printf(sb, "\"$ref\": \"#/$defs/%s\"", f->of->name);
	}
}

static void put_field(struct strbuf *sb, const struct field *f)
{
	const char *plain = field_type_schema(f->type);

	strbuf_putc(sb, '{');
	if (f->words)
		put_words(sb, f);
	else if (f->of)
		put_reference(sb, f);
	else
		strbuf_append(sb, plain + 1, strlen(plain) - 2);	/* without its braces */
	json_string(sb, ", ", "description", f->what);
	strbuf_putc(sb, '}');
}

/* --- an object --- */

static void put_object(struct strbuf *sb, const struct fields *fields)
{
	size_t n = 0;

	json_key(sb, ",\n ", fields->name);
	json_string(sb, "{", "type", "object");
	json_string(sb, ", ", "description", fields->what);
	strbuf_puts(sb, ", \"properties\": {");
	for (size_t i = 0; i < fields->n; i++) {
		if (!(fields->all[i].in & FIELD_JSON))
			continue;
		json_key(sb, n++ ? ",\n  " : "\n  ", fields->all[i].key);
		put_field(sb, &fields->all[i]);
	}
	strbuf_puts(sb, "},\n  \"required\": [");
	n = 0;
	for (size_t i = 0; i < fields->n; i++)
		if (fields->all[i].in & FIELD_JSON && !(fields->all[i].in & FIELD_OPTIONAL))
			strbuf_printf(sb, "%s\"%s\"", n++ ? ", " : "", fields->all[i].key);
	strbuf_puts(sb, "]}");
}

/* --- all --- */

static int find_all(struct fields_found *found, const struct fields *const *roots, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = fields_find(found, roots[i], FIELD_JSON);
	return r ? r : fields_find(found, &fields_frame, FIELD_JSON);
}

static void put_schema(struct strbuf *sb, const struct fields *const *roots, size_t n,
		       const struct fields_found *found)
{
	strbuf_puts(sb, "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n\"title\": \"JSON of mmattach\",\n"
			"\"anyOf\": [");
	for (size_t i = 0; i < n; i++)
		strbuf_printf(sb, "%s{\"$ref\": \"#/$defs/%s\"}", i ? ", " : "", roots[i]->name);
	strbuf_puts(sb, "],\n\"$defs\": {\n");
	strbuf_puts(sb, shared_definitions);
	put_sums(sb);
	for (size_t i = 0; i < found->n; i++)
		put_object(sb, found->all[i]);
	strbuf_puts(sb, "}}\n");
}

int json_schema(struct strbuf *sb, const struct fields *const *roots, size_t n)
{
	struct fields_found found = { 0 };
	int r = find_all(&found, roots, n);

	if (r == 0)
		put_schema(sb, roots, n, &found);
	fields_found_fini(&found);
	return r ? r : strbuf_error(sb);
}

int json_describe(struct strbuf *sb, const struct fields *const *roots, size_t n)
{
	struct fields_found found = { 0 };
	int r = find_all(&found, roots, n);

	strbuf_puts(sb, "# Members of JSON\n");
	for (size_t i = 0; i < found.n && r == 0; i++)
		fields_describe(sb, found.all[i], FIELD_JSON);
	fields_found_fini(&found);
	return r ? r : strbuf_error(sb);
}
