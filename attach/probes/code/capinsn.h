/* SPDX-License-Identifier: MIT */
/*
 * capinsn: properties of an instruction that capstone decoded, read from its bytes where capstone 4 is
 * unreliable. For decode.c and decode_emu.c only.
 */
#ifndef MM_CAPINSN_H
#define MM_CAPINSN_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/traps/emulate.h"

/* The prefixes according to the bytes: capstone 4 drops some of them (f3 before a mov, a second segment). */
struct prefixes {
	unsigned size, address, lock, repeat, branch, segment;	/* how many of each */
	uint8_t rex;
	uint8_t opcode;	/* the first byte after them */
	/* REX is the last before the opcode, and no segment prefix is between f2 or f3 and an SSE opcode */
	bool in_order;
};

struct prefixes prefixes_of(const cs_insn *in);

/* ins, outs, movs, cmps, stos, lods, scas: they move rsi and rdi. */
bool is_string(const struct prefixes *p);

/* A nop in any form, endbr64. */
bool is_nop(const cs_insn *in);

/*
 * The register that capstone calls @name, and how many bytes of it; false for others than the sixteen, and
 * for ah, bh, ch, dh.
 */
bool find_register(unsigned name, uint8_t *reg, uint8_t *size);

/* The bit of the register that @name is a part of, ah and its like included; 0 for others. */
uint16_t register_bit(unsigned name);

/*
 * What the instruction does to saved registers, as the keeper needs it (decode_emu.c). false: it is not
 * emulated.
 */
bool decode_emu(const cs_insn *in, struct emu *e);

#endif
