/* SPDX-License-Identifier: MIT */
/*
 * made_script: a script of Ruby 3.1 made by hand in our own memory: sequences of instructions of three lines each,
 * and two methods in C, whose names are in a table of symbols.
 */
#ifndef TESTS_MADE_SCRIPT_H
#define TESTS_MADE_SCRIPT_H

#include <fcntl.h>

#include "attach/stacks/ruby/iseqs.h"
#include "attach/stacks/ruby/rbruntime.h"
#include "tests/unit/attach/stacks/ruby/made_ruby.h"

#define ISEQS 5u
#define WORDS 8u		/* of instructions of each; lines begin at words 0, 2 and 5 */
#define CURRENT(n) ((uint64_t)(200 + (n)) << 4)	/* the number of the name of method n, as an id */

static struct {
	struct string label, path, real_path;
	uint64_t paths[2];
	struct array both_paths;
	struct object iseq;
	struct body body;
	uint64_t code[WORDS];
	struct line lines[3];
	uint64_t index[6];
} made_iseqs[ISEQS];

static struct {
	struct object method;
	struct definition definition;
	struct string name;
} made_methods[2];

static struct {
	uint64_t last, by_name, arrays;
	struct array outer, inner;
	uint64_t outer_elements[1], inner_elements[512];
} made_symbols;

static struct rb_runtime made_runtime;

/* Number @i: @label in "@path.rb", whose first line is @first. */
static inline void make_iseq(uint32_t i, const char *label, const char *path, uint32_t first)
{
	__typeof__(made_iseqs[0]) *m = &made_iseqs[i];

	memset(m, 0, sizeof(*m));
	make_short(&m->label, label, false);
	make_short(&m->path, path, false);
	make_long(&m->real_path, "/somewhere/else.rb");
	m->paths[0] = (uintptr_t)&m->path;
	m->paths[1] = (uintptr_t)&m->real_path;
	make_array(&m->both_paths, m->paths, 2);
	for (uint32_t n = 0; n < 3; n++)
		m->lines[n].line = first + n;
	for (uint32_t at = 0; at <= WORDS; at++)
		m->index[0] |= (uint64_t)(1 + (at >= 2) + (at >= 5)) << at * 7;
	m->body = (struct body){
		.nwords = WORDS, .code = (uintptr_t)m->code, .path = (uintptr_t)&m->both_paths,
		.label = (uintptr_t)&m->label, .lines = (uintptr_t)m->lines, .nlines = 3,
		.index = (uintptr_t)m->index,
	};
	m->iseq = (struct object){ .flags = RB_ISEQ | 1u << 5, .body = (uintptr_t)&m->body };
}

static inline void make_method(uint32_t i, const char *name)
{
	make_short(&made_methods[i].name, name, false);
	made_methods[i].definition.id = CURRENT(i);
	made_methods[i].method = (struct object){ .flags = RB_METHOD | 1u << 5,
						  .body = (uintptr_t)&made_methods[i].definition };
	made_symbols.inner_elements[2 * (200 + i)] = (uintptr_t)&made_methods[i].name;
}

/* All of it, and a runtime that reads it. */
static inline bool make_script(void)
{
	static const char *const labels[ISEQS] = { "f0", "f1", "f2", "f3", "f4" };

	for (uint32_t i = 0; i < ISEQS; i++)
		make_iseq(i, labels[i], "a.rb", 10 * i);
	make_array(&made_symbols.inner, made_symbols.inner_elements, 512);
	made_symbols.outer_elements[0] = (uintptr_t)&made_symbols.inner;
	make_array(&made_symbols.outer, made_symbols.outer_elements, 1);
	made_symbols.last = 300;
	made_symbols.arrays = (uintptr_t)&made_symbols.outer;
	make_method(0, "each");
	make_method(1, "new");
	made_runtime = (struct rb_runtime){ .layout = *rb_layouts_find(0x0301),
					    .symbols = (uintptr_t)&made_symbols };
	made_runtime.base.chain = made_runtime.layout.chain;
	iseqs_identity(&made_runtime.layout, made_runtime.base.identity);
	made_runtime.base.mem = open("/proc/self/mem", O_RDONLY);
	return made_runtime.base.mem >= 0;
}

/* A frame of number @i that executes word @word, which may be behind its end. */
static inline struct chain_link link_of_iseq(uint32_t i, uint32_t word, uint16_t kind)
{
	return (struct chain_link){ (uint64_t)kind << 48, (uintptr_t)&made_iseqs[i].iseq,
				    (uintptr_t)made_iseqs[i].code + (word + 1) * sizeof(made_iseqs[i].code[0]) };
}

static inline struct chain_link link_of_method(uint32_t i)
{
	return (struct chain_link){ (uint64_t)RB_OF_C << 48, (uintptr_t)&made_methods[i].method, 0 };
}

#endif
