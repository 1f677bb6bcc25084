/* SPDX-License-Identifier: MIT */
/*
 * rbobjects: strings and arrays of a Ruby in a process, read from its memory. They may be anything, or gone:
 * then it is false.
 */
#ifndef MM_RUBY_OBJECTS_H
#define MM_RUBY_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/stacks/ruby/rblayouts.h"
#include "base/taddr.h"

#define RB_TEXT_MOST 512u	/* bytes that are read of a string */

/* The string at @at into @buf[0..n), as much as fits. */
bool rb_read_string(int mem, const struct rb_layout *l, taddr at, char *buf, size_t n);

/* Element @i of the array at @at. */
bool rb_read_element(int mem, taddr at, uint64_t i, uint64_t *out);

#endif
