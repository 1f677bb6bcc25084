/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/rbsymbols.h"

#include <string.h>

#include "attach/stacks/ruby/rbdata.h"
#include "attach/stacks/ruby/rbobjects.h"
#include "attach/stacks/scripts/script_language.h"

#define LAST_OPERATOR 169u	/* greater ids have four bits of kind below the number */
#define KIND_BITS 4
#define IN_AN_ARRAY 512u	/* symbols, of two elements each: the string, the symbol */
#define SYMBOLS_MOST (1u << 28)

struct table {
	uint64_t last;
	taddr by_name, arrays;
};

static bool name_of_number(int mem, const struct rb_layout *l, const struct table *t, uint64_t number,
			   char *buf, size_t n)
{
	uint64_t array, string;

	return number <= t->last && rb_read_element(mem, t->arrays, number / IN_AN_ARRAY, &array) &&
	       rb_read_element(mem, array, number % IN_AN_ARRAY * 2, &string) &&
	       rb_read_string(mem, l, string, buf, n);
}

static bool is_table(int mem, const struct rb_layout *l, const struct table *t)
{
	static const char letters[] = "+*<";
	char name[4];

	for (const char *c = letters; *c; c++)
		if (!name_of_number(mem, l, t, (uint8_t)*c, name, sizeof(name)) || name[0] != *c || name[1])
			return false;
	return true;
}

struct search {
	int mem;
	const struct rb_layout *layout;
};

static bool may_begin_table(const void *arg, const uint64_t *words)
{
	struct table t;

	(void)arg;
	memcpy(&t, words, sizeof(t));
	return t.last > LAST_OPERATOR && t.last <= SYMBOLS_MOST && rb_data_pointer(t.by_name) &&
	       rb_data_pointer(t.arrays);
}

static bool begins_table(const void *arg, const uint64_t *words)
{
	const struct search *s = arg;
	struct table t;

	memcpy(&t, words, sizeof(t));
	return is_table(s->mem, s->layout, &t);
}

taddr rb_symbols_locate(const struct module *m, int mem, const struct rb_layout *l)
{
	const struct search search = { mem, l };
	const size_t n = sizeof(struct table) / sizeof(uint64_t);
	const struct rb_data_wanted wanted = { n, may_begin_table, begins_table, &search };

	return rb_data_search(m, mem, &wanted);
}

bool rb_symbols_name(int mem, const struct rb_layout *l, taddr table, uint64_t id, char *buf, size_t n)
{
	struct table t;

	if (!table || !script_read(mem, table, &t, sizeof(t)))
		return false;
	return name_of_number(mem, l, &t, id > LAST_OPERATOR ? id >> KIND_BITS : id, buf, n);
}
