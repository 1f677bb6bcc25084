/* SPDX-License-Identifier: MIT */
/*
 * classify: the C++ class of a block.
 *
 *	block ──▶ [vptr]───────┐        vtable, in a module's data
 *	          members      │          offset to top: 0
 *	                       │          type_info ───▶ its own vptr ──▶ one of __cxxabiv1::*class_type_info
 *	                       └────────▶ functions      name ──▶ "N3app6WidgetE"
 *
 * Such an object begins with a pointer into a vtable whose type_info has the name of the class: all of it is
 * in the snapshot (with files as backing, heap/snapshot/backing.h), no symbol is needed, and a pointer to
 * something else fails one of the steps. Offset to top: only the primary vtable identifies a class, so a
 * block that begins with a part of another object has none. If code has no type_info (-fno-rtti), the symbol
 * _ZTV… of the vtable, in its file, must name the class.
 *
 * An array of new[] has its length before the first object: "app::Widget[]".
 *
 * A separate process (heap/snapshot/jailed.h) demangles names and reads symbols, after all blocks were seen:
 * names are the target's, and a short one can expand to gigabytes. So classes are numbers first:
 * classify_block for all blocks, classify_names once, then classify_name.
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

/*
 * For the sealed @s; @b, its files, may be NULL: then classes without type_info are not found. Both must
 * outlive the result. 0 or -ENOMEM.
 */
must_check int classify_new(const struct snapshot *s, const struct backing *b, struct classify **out);
void classify_free(struct classify *c);

/*
 * The class of the @size bytes at @addr, a number below classify_count, or CLASS_NONE. Fast if blocks come in
 * the order of addresses. 0 or -ENOMEM.
 */
must_check int classify_block(struct classify *c, taddr addr, uint64_t size, uint32_t *class);

/* How many numbers there are, including CLASS_NONE. */
size_t classify_count(const struct classify *c);

/* Find names for all classes so far. 0; -ENOMEM; -errno of starting a process: then names stay mangled. */
must_check int classify_names(struct classify *c);

/*
 * "app::Widget", "app::Widget[]"; mangled if it could not be demangled. NULL: it is no class after all. Valid
 * until classify_free.
 */
const char *classify_name(const struct classify *c, uint32_t class);

/*
 * The path of the mapping with its vtable (the first that was seen), as in s->maps; NULL: it is not in a
 * file's mapping.
 */
const char *classify_module(const struct classify *c, uint32_t class);

#endif
