/* SPDX-License-Identifier: MIT */
/*
 * rbdata: the variables of Ruby's file as they are in the process, searched for one that no symbol names.
 */
#ifndef MM_RUBY_DATA_H
#define MM_RUBY_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/target/modules.h"
#include "base/taddr.h"

/* What is searched: @n words for which both functions say so, given @arg. */
struct rb_data_wanted {
	size_t n;
	bool (*may_be)(const void *arg, const uint64_t *words);	/* reads nothing else */
	bool (*is)(const void *arg, const uint64_t *words);	/* follows pointers */
	const void *arg;
};

/*
 * The first address that has it; 0: none has. The process could have any data there, so no more than 4 MiB
 * are searched, and @is is asked no more than 16,384 times.
 */
taddr rb_data_search(const struct module *m, int mem, const struct rb_data_wanted *wanted);

/* May it be an address of data of a word or more? */
bool rb_data_pointer(uint64_t word);

#endif
