/* SPDX-License-Identifier: MIT */
/*
 * field: what reports say, as tables: a line for each member of each object, with its type, the formats that
 * have it, its value, and a sentence that describes it. JSON, CSV, the data of a page, the JSON Schema and
 * the documents are made of these tables. So a member is added by one line, and no format and no document has
 * another name for it.
 *
 *	#define TARGET(F)
 *		F(uint, pid, ALL, (uint64_t)t->pid, "")
 *		F(string, comm, ALL, t->comm, "Its name, as the kernel has it.")
 *
 *	FIELDS(target, const struct summary_target *t, TARGET, "The process.")
 *
 * defines `fields_target` (report/fields/table.h, which only tables include).
 *
 * There were two ways: functions that print a member and describe it, which would have to be run without an
 * object for a schema, past all their conditions; or tables with offsets, in which most values, being
 * computed, need a function each. In this one the preprocessor makes both, the function and the table, of one
 * list.
 */
#ifndef MM_FIELD_H
#define MM_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/taddr.h"
#include "report/model/summary.h"

/* Which formats have a member. */
#define FIELD_JSON 1u
#define FIELD_CSV 2u	/* of a watch or a comparison */
#define FIELD_SCAN 16u	/* CSV of a scan */
#define FIELD_PAGE 4u	/* the data of a page */
#define FIELD_OPTIONAL 8u	/* and it may be left out of JSON: WHEN */

/*
 * Types, each with what JSON Schema says of it and a word for people.
 *
 *	_or_null	null if the value is NULL, not finite, or OR_NULL says so
 *	string		a string; "" for NULL
 *	made		a string of its own: the expression writes it to `v->made`
 *	bytes, seconds	numbers whose unit is that; share: a part, 0 to 1
 *	word		one of a list
 *	flat		an object whose members are cells of their own in CSV
 */
#define FIELD_TYPES(X)											\
	X(UINT, "{\"type\": \"integer\", \"minimum\": 0}", "number")					\
	X(UINT_OR_NULL, "{\"type\": [\"integer\", \"null\"], \"minimum\": 0}", "number or null")	\
	X(BYTES, "{\"type\": \"integer\", \"minimum\": 0}", "bytes")                                                   \
	X(SECONDS, "{\"type\": \"number\"}", "seconds")                                                              \
	X(INT, "{\"type\": \"integer\"}", "number")							\
	X(INT_OR_NULL, "{\"type\": [\"integer\", \"null\"]}", "number or null")				\
	X(REAL, "{\"type\": \"number\"}", "number")							\
	X(REAL_OR_NULL, "{\"type\": [\"number\", \"null\"]}", "number or null")				\
	X(SHARE, "{\"type\": \"number\"}", "number")							\
	X(BOOL, "{\"type\": \"boolean\"}", "true or false")						\
	X(STRING, "{\"type\": \"string\"}", "string")							\
	X(STRING_OR_NULL, "{\"type\": [\"string\", \"null\"]}", "string or null")			\
	X(MADE, "{\"type\": \"string\"}", "string")							\
	X(WORD, "", "word")										\
	X(WORD_OR_NULL, "", "word or null")								\
	X(ADDRESS, "{\"$ref\": \"#/$defs/address\"}", "address")					\
	X(TIME, "{\"$ref\": \"#/$defs/time\"}", "time")							\
	X(OBJECT, "", "object")										\
	X(OBJECT_OR_NULL, "", "object or null")								\
	X(LIST, "", "list")										\
	X(STRINGS, "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}", "list of strings")	\
	X(NUMBERS, "{\"type\": \"array\", \"items\": {\"type\": \"integer\", \"minimum\": 0}}",		\
	  "list of numbers")										\
	X(ADDRESSES, "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/address\"}}",		\
	  "list of addresses")										\
	X(SUM, "{\"$ref\": \"#/$defs/sum\"}", "blocks, bytes")						\
	X(SUMS, "{\"$ref\": \"#/$defs/sums\"}", "blocks, bytes by verdict")				\
	X(INTERVAL, "{\"$ref\": \"#/$defs/interval\"}", "value, low, high")				\
	X(BOUNDS, "{\"$ref\": \"#/$defs/bounds\"}", "low, high")					\
	X(INTS,												\
	  "{\"type\": \"array\", \"items\": {\"type\": \"integer\"}, \"minItems\": 2, \"maxItems\": 2}", \
	  "least, greatest")										\
	X(SERIES, "{\"$ref\": \"#/$defs/series\"}", "series")						\
	X(SERIES_OR_NULL, "{\"anyOf\": [{\"$ref\": \"#/$defs/series\"}, {\"type\": \"null\"}]}",	\
	  "series or null")										\
	X(RESIDENT, "{\"$ref\": \"#/$defs/series\"}", "series")						\
	X(HISTOGRAM, "{\"$ref\": \"#/$defs/histogram\"}", "histogram")					\
	X(STACK, "{\"$ref\": \"#/$defs/stack\"}", "list of frames")					\
	X(COUNTS,											\
	  "{\"type\": \"object\", \"additionalProperties\": {\"type\": \"integer\", \"minimum\": 0}}",	\
	  "number by name")										\
	X(LABELS, "{\"type\": \"object\", \"additionalProperties\": {\"type\": \"string\"}}", "string by name")

enum field_type {
#define X(name, schema, word) FIELD_##name,
	FIELD_TYPES(X)
#undef X
	FIELD_TYPE_COUNT
};

struct diff;
struct scan_report;
struct rows;

/* Whose groups are which: by row the first one, by group the next one of its row; each + 1, 0 for none. */
struct field_members {
	size_t *first, *next;
};

/* The report that is printed: what the values of its objects depend on. */
struct field_source {
	const struct summary *s;
	const struct summary *view;		/* its rows, as report/names/rows.h makes them */
	const struct rows *rows;
	struct field_members groups, refs;	/* of rows */
	const struct diff *diff;
	const struct scan_report *scan;
	const void *owner;			/* of an element of a list: the object that has the list */
	bool page;
};

struct field_list {
	const void *base;
	size_t n, each;
	/* If set: the element of that index, or NULL: it is left out. */
	const void *(*at)(const struct field_source *c, const void *base, size_t i);
};

struct field_histogram {
	const struct histogram *of;
	bool seconds;
};

struct field_points {
	const struct growth_point *all;
	size_t n;
};

/* A list through field_members: @first and what follows it. */
struct field_numbers {
	const size_t *next;
	size_t first;		/* with @next */
	const uint64_t *all;	/* else these */
	size_t n;
};

struct field_value {
	bool absent, null;
	union {
		uint64_t u;
		int64_t i, ints[2];
		double r, interval[3];
		bool b;
		const char *s;
		const void *object;
		struct summary_sum sum;
		struct field_list list;
		struct field_histogram histogram;
		struct field_points points;
		struct field_numbers numbers;
	};
	struct strbuf made;
};

/* The words of an enumeration, in their order. */
struct field_words {
	const char *(*name)(unsigned value);
	unsigned n;
};

struct field {
	const char *key;
	enum field_type type;
	const struct fields *of;		/* OBJECT, LIST */
	const struct field_words *words;	/* WORD */
	const char *prefix;			/* of the cells of a flat object */
	unsigned in;				/* FIELD_JSON ... */
	const char *head;			/* of a column of a table of text; NULL: it is in none */
	int width;				/* of that column; negative: a text, at the left */
	const char *what;
};

struct fields {
	const char *name;	/* of the object, in the schema and in documents */
	const char *what;
	const struct field *all;
	size_t n;
	void (*get)(const struct field_source *c, const void *object, size_t at, struct field_value *v);
};

/* The value of the @at-th field of @object; field_value_fini when it is not needed any more. */
void field_get(const struct fields *f, const struct field_source *c, const void *object, size_t at,
	       struct field_value *v);
void field_value_fini(struct field_value *v);

/* An element of a list, or NULL: it is left out. */
const void *field_element(const struct field_source *c, const struct field_list *list, size_t i);

const char *field_type_schema(enum field_type type);
const char *field_type_word(enum field_type type);

#endif
