/* SPDX-License-Identifier: MIT */
/*
 * table: how a table of fields is written (report/fields/field.h). A line:
 *
 *	F(TYPE, KEY, FORMATS, VALUE, "What it is.")
 *
 * The value is an expression that sees the object by the name that FIELDS declares, the report as `c`
 * (struct field_source), and what it gives as `v` (struct field_value). FORMATS are some of J, C, S and P. It
 * may be
 *
 *	WHEN(CONDITION, VALUE)		the member is left out if that is false; FORMATS has OPT
 *	OR_NULL(CONDITION, VALUE)	it is null then; the type says so, too
 *
 * A type is a word of field.h in lower case; object(OF), list(OF), flat(OF, PREFIX) name the table of what is
 * in it, word(LIST) a list of words.
 */
#ifndef MM_TABLE_H
#define MM_TABLE_H

#include "report/fields/field.h"

#define J FIELD_JSON
#define C FIELD_CSV
#define S FIELD_SCAN
#define CS (C | S)
#define P FIELD_PAGE
#define OPT FIELD_OPTIONAL
#define ALL (J | P)

#define WHEN(condition, value) ((condition) ? (value) : (v->absent = true, (__typeof__(value)){ 0 }))
#define OR_NULL(condition, value) ((condition) ? (value) : (v->null = true, (__typeof__(value)){ 0 }))

/* In place of the sentence: the field is also a column of a table of a text report. */
#define COLUMN(head_, width_, text) text, .head = (head_), .width = (width_)

/* Values of more than one part. */
#define ARRAY(base, n) ((struct field_list){ base, n, sizeof(*(base)), NULL })
#define CHOSEN(base, n, at) ((struct field_list){ base, n, 0, at })	/* at: of struct field_list */
#define POINTS(all, n) ((struct field_points){ all, n })
#define CHAIN(members, row) ((struct field_numbers){ .next = (members).next, .first = (members).first[row] })
#define LONGS(all_, n_) ((struct field_numbers){ .all = (all_), .n = (n_) })

struct field_interval {
	double value, low, high;
};

#define INTERVAL(value, low, high) ((struct field_interval){ value, low, high })
#define BOUNDS(low, high) INTERVAL(0, low, high)
#define ESTIMATE(e) INTERVAL((e).value, (e).low, (e).high)

#define WORDS(list, name_of, count)									\
	static const char *word_##list(unsigned value)							\
	{												\
		return name_of(value);									\
	}												\
	const struct field_words names_##list = { word_##list, count }

/* --- what a list becomes --- */

#define FIELD_NUMBER(type, key, in, value, what) at_##key,
#define FIELD_CASE(type, key, in, value, what) case at_##key: FIELD_SET_##type(value); break;
#define FIELD_ROW(type, key, in_, value, what_) { #key, FIELD_TYPE_##type, .in = (in_), .what = what_ },

#define FIELDS(name_, object_, LIST_OF, what_)								\
	static void get_##name_(const struct field_source *c, const void *object, size_t at,	\
				struct field_value *v)							\
	{												\
		enum { LIST_OF(FIELD_NUMBER) };								\
		object_ = object;									\
		(void)c;										\
		switch (at) {										\
			LIST_OF(FIELD_CASE)								\
		}											\
	}												\
	static const struct field all_##name_[] = { LIST_OF(FIELD_ROW) };				\
	const struct fields fields_##name_ = {								\
		#name_, what_, all_##name_, sizeof(all_##name_) / sizeof(*all_##name_), get_##name_,	\
	}

#define FIELD_TYPE_uint FIELD_UINT
#define FIELD_SET_uint(x) v->u = (x)
#define FIELD_TYPE_bytes FIELD_BYTES
#define FIELD_SET_bytes(x) v->u = (x)
#define FIELD_TYPE_seconds FIELD_SECONDS
#define FIELD_SET_seconds(x) v->r = (x)
#define FIELD_TYPE_uint_or_null FIELD_UINT_OR_NULL
#define FIELD_SET_uint_or_null(x) v->u = (x)
#define FIELD_TYPE_int FIELD_INT
#define FIELD_SET_int(x) v->i = (x)
#define FIELD_TYPE_int_or_null FIELD_INT_OR_NULL
#define FIELD_SET_int_or_null(x) v->i = (x)
#define FIELD_TYPE_real FIELD_REAL
#define FIELD_SET_real(x) v->r = (x)
#define FIELD_TYPE_real_or_null FIELD_REAL_OR_NULL
#define FIELD_SET_real_or_null(x) v->r = (x)
#define FIELD_TYPE_share FIELD_SHARE
#define FIELD_SET_share(x) v->r = (x)
#define FIELD_TYPE_bool FIELD_BOOL
#define FIELD_SET_bool(x) v->b = (x)
#define FIELD_TYPE_string FIELD_STRING
#define FIELD_SET_string(x) v->s = (x)
#define FIELD_TYPE_string_or_null FIELD_STRING_OR_NULL
#define FIELD_SET_string_or_null(x) v->s = (x)
#define FIELD_TYPE_address FIELD_ADDRESS
#define FIELD_SET_address(x) v->u = (x)
#define FIELD_TYPE_time FIELD_TIME
#define FIELD_SET_time(x) v->i = (x)
#define FIELD_TYPE_series FIELD_SERIES
#define FIELD_SET_series(x) v->points = (x)
#define FIELD_TYPE_series_or_null FIELD_SERIES_OR_NULL
#define FIELD_SET_series_or_null(x) v->points = (x)
#define FIELD_TYPE_histogram FIELD_HISTOGRAM
#define FIELD_SET_histogram(x) v->histogram = (x)
#define FIELD_TYPE_numbers FIELD_NUMBERS
#define FIELD_SET_numbers(x) v->numbers = (x)
#define FIELD_TYPE_sum FIELD_SUM
#define FIELD_SET_sum(x) v->sum = (x)
#define FIELD_TYPE_sums FIELD_SUMS
#define FIELD_SET_sums(x) v->object = (x)
#define FIELD_TYPE_stack FIELD_STACK
#define FIELD_SET_stack(x) v->object = (x)
#define FIELD_TYPE_labels FIELD_LABELS
#define FIELD_SET_labels(x) v->s = (x)
#define FIELD_TYPE_strings FIELD_STRINGS
#define FIELD_SET_strings(x) v->list = (x)
#define FIELD_TYPE_resident FIELD_RESIDENT
#define FIELD_SET_resident(x) v->list = (x)
#define FIELD_TYPE_addresses FIELD_ADDRESSES
#define FIELD_SET_addresses(x) v->list = (x)
#define FIELD_TYPE_counts FIELD_COUNTS
#define FIELD_SET_counts(x) v->list = (x)
#define FIELD_TYPE_made FIELD_MADE
#define FIELD_SET_made(x) (x)
#define FIELD_TYPE_interval FIELD_INTERVAL
#define FIELD_SET_interval(x) field_set_interval(v, (x))
#define FIELD_TYPE_bounds FIELD_BOUNDS
#define FIELD_SET_bounds(x) field_set_interval(v, (x))
#define FIELD_TYPE_ints FIELD_INTS
#define FIELD_SET_ints(x) (x)
#define FIELD_TYPE_word(list) FIELD_WORD, .words = &names_##list
#define FIELD_SET_word(list) FIELD_SET_uint
#define FIELD_TYPE_word_or_null(list) FIELD_WORD_OR_NULL, .words = &names_##list
#define FIELD_SET_word_or_null(list) FIELD_SET_uint
#define FIELD_TYPE_object(of_) FIELD_OBJECT, .of = &fields_##of_
#define FIELD_SET_object(of_) FIELD_SET_stack
#define FIELD_TYPE_object_or_null(of_) FIELD_OBJECT_OR_NULL, .of = &fields_##of_
#define FIELD_SET_object_or_null(of_) FIELD_SET_stack
#define FIELD_TYPE_flat(of_, prefix_) FIELD_OBJECT, .of = &fields_##of_, .prefix = prefix_
#define FIELD_SET_flat(of_, prefix_) FIELD_SET_stack
#define FIELD_TYPE_list(of_) FIELD_LIST, .of = &fields_##of_
#define FIELD_SET_list(of_) FIELD_SET_strings

static inline void field_set_interval(struct field_value *v, struct field_interval its)
{
	v->interval[0] = its.value;
	v->interval[1] = its.low;
	v->interval[2] = its.high;
}

#endif
