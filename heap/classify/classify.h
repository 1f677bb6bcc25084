/* SPDX-License-Identifier: MIT */
/*
 * classify: of which C++ class a block is.
 *
 *	block ──▶ [vptr]───────┐        vtable, in a module's data
 *	          members      │          offset to top: 0
 *	                       │          type_info ───▶ its own vptr ──▶ one of __cxxabiv1::*class_type_info
 *	                       └────────▶ functions      name ──▶ "N3app6WidgetE"
 *
 * Such an object begins with a pointer into a vtable whose type_info says its name: everything is in the snapshot (with files behind
 * it, heap/snapshot/backing.h), no symbol is needed, and a pointer that leads somewhere else fails one of the steps. Offset to top: a class is
 * told by its primary vtable only, so a block that begins with a part of something else is none. Of code without
 * type_info (-fno-rtti) the symbol _ZTV… that the vtable's file has must name it.
 *
 * An array of new[] has its length before the first object: "app::Widget[]".
 *
 * Readable names, and symbols, are made by a process apart (heap/snapshot/jailed.h) when all blocks were seen: names are the target's, and a short one
 * can stand for gigabytes. So classes are numbers first: classify_block for all blocks, classify_names once, then classify_name.
 *
 * Not thread-safe.
 */
#ifndef MM_CLASSIFY_H
#define MM_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "heap/snapshot/backing.h"
#include "heap/snapshot/snapshot.h"

#define CLASS_NONE 0u		/* no class, or not known */

struct classify;

/* For the sealed @s; @b, its files, may be NULL: then classes without type_info are not found. Both outlive it. 0 or -ENOMEM. */
must_check int classify_new(const struct snapshot *s, const struct backing *b, struct classify **out);
void classify_free(struct classify *c);

/* The class of the @size bytes at @addr, a number below classify_count, or CLASS_NONE. Quick where blocks come by address. 0 or -ENOMEM. */
must_check int classify_block(struct classify *c, taddr addr, uint64_t size, uint32_t *class);

/* How many numbers there are, CLASS_NONE among them. */
size_t classify_count(const struct classify *c);

/* Let all classes found so far have names. 0; -ENOMEM; -errno of starting a process: then names are as the compiler writes them. */
must_check int classify_names(struct classify *c);

/* "app::Widget", "app::Widget[]"; as the compiler writes it if it could not be made readable. NULL: it turned out to be none. Valid
 * until classify_free. */
const char *classify_name(const struct classify *c, uint32_t class);

/* The path of the mapping in which its vtable lies (the first that was seen), as s->maps has it; NULL: in none of a file's. */
const char *classify_module(const struct classify *c, uint32_t class);

#endif
