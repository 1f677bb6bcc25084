/* SPDX-License-Identifier: MIT */
/*
 * rblines: the line of an instruction of a script. Ruby has the lines in order of the instructions that they
 * begin at, and an index of bits that says how many of them begin up to a position: seven bits each for the
 * first positions, and behind those blocks of 512 bits, each with how many there are before it.
 */
#ifndef MM_RUBY_LINES_H
#define MM_RUBY_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/taddr.h"

struct rb_lines {
	taddr lines;		/* of 12 bytes each, the line first */
	uint32_t n;
	taddr index;		/* if there are more than one */
};

/* The line of the instruction that covers word @position. 0: it cannot be read, or there is none. */
uint32_t rb_lines_at(int mem, const struct rb_lines *l, uint32_t position);

#endif
