/* SPDX-License-Identifier: MIT */
/*
 * iseqs: what the frames of a Ruby execute: sequences of instructions (Ruby's word for them is iseq), and
 * methods that are written in C. Both are code objects of two kinds (scripts/script_codes.h): RB_ISEQ,
 * RB_METHOD.
 *
 *	object: flags, -, ──▶ iseq: body, with its instructions, path, label, lines
 *			      method: its definition, with the number of its name
 */
#ifndef MM_RUBY_ISEQS_H
#define MM_RUBY_ISEQS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/stacks/ruby/rblayouts.h"
#include "attach/stacks/scripts/script_codes.h"

/* For struct script_runtime. */
void iseqs_identity(const struct rb_layout *l, uint16_t identity[SCRIPT_IDENTITY]);

/* Of struct script_language. */
bool iseqs_read(const struct script_runtime *rt, struct script_code *code);
bool iseqs_describe(const struct script_runtime *rt, struct script_places *places, struct script_code *code);
uint32_t iseqs_line(const struct script_runtime *rt, const struct script_code *iseq, uint32_t position);

/* Of one that was found as RB_METHOD: is it a method, and not what else frames in C have in its place? */
bool iseqs_is_method(const struct script_code *code);

/*
 * The first word of the instructions of the iseq at @addr, which executes them up to @pc. false: there is
 * none, or @pc is not in it.
 */
bool iseqs_first_word(int mem, taddr addr, taddr pc, uint64_t *out);

/* Which word of the instructions a frame executes whose next instruction is at @pc. */
uint32_t iseqs_position(const struct script_code *iseq, taddr pc);

#endif
