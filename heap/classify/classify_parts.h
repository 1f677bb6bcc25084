/* SPDX-License-Identifier: MIT */
/* classify_parts: shared by classify*.c, and private to them. */
#ifndef MM_CLASSIFY_PARTS_H
#define MM_CLASSIFY_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "heap/classify/classify.h"
#include "heap/snapshot/snapshot_cursor.h"

struct class {
	const char *type;		/* "N3app6WidgetE", in the pool; NULL: a symbol has the name */
	const struct backing_file *file;	/* then: the file of the vtable, and its address there */
	taddr vaddr;
	bool array;
	bool settled;			/* it has its name, or will never have one */
	const char *name;		/* in the pool */
	const char *module;		/* of s->maps */
};

/* The private data of modules, where vtables can be. Sorted. */
struct module_range {
	taddr lo, hi;
};

struct classify {
	const struct snapshot *s;
	const struct backing *b;
	struct module_range *ranges;
	size_t nranges, range;		/* range: the last that was found */
	struct class *classes;
	size_t n, room;
	struct addrmap vtables;		/* vptr, + 1 for an array -> number; CLASS_NONE: examined, no class */
	struct addrmap types;		/* type in the pool, + 1 for an array -> number */
	struct addrmap families;	/* vptr of a type_info -> whether it is a class's */
	struct intern pool;
	struct snapshot_cursor cursor;
	struct recent {
		taddr key;
		uint32_t class;
	} recent[256];			/* a cache before the tables */
};

/* --- classify_rtti.c: where vtables can be, and what their words say --- */

/* Find the memory that is data of modules. 0 or -ENOMEM. */
must_check int rtti_find_ranges(struct classify *c);

/* Is @at in a module's data? */
bool rtti_in_module(struct classify *c, taddr at);

/* RTTI_WITHOUT: may be a vtable of code without type_info */
enum rtti { RTTI_NONE, RTTI_NAMED, RTTI_WITHOUT };
#define RTTI_NAME_MAX 4096

/*
 * The class whose primary vtable @vptr points to: its mangled type in @name. @c is changed only in its
 * families.
 */
enum rtti rtti_look(struct classify *c, taddr vptr, char name[RTTI_NAME_MAX]);

#endif
