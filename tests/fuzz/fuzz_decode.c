/* SPDX-License-Identifier: MIT */
/*
 * decode and emulate: the input is code, run through once from its start. What decode reports of an
 * instruction must be what emulating it does.
 */
#include <errno.h>
#include <stdbool.h>

#include "attach/probes/code/decode.h"
#include "attach/probes/code/insnlen.h"
#include "tests/fuzz/fuzz.h"

#define CODE 0x401000u
#define MEMORY 0x10000u
#define BYTES 4096

static uint8_t memory[BYTES];

/*
 * Registers point to the middle of the memory, so that addresses near them can be accessed and others cannot.
 */
static uint8_t *reach(taddr addr, size_t n)
{
	return addr >= MEMORY && n <= BYTES && addr - MEMORY <= BYTES - n ? memory + (addr - MEMORY) : NULL;
}

static int read_memory(void *ctx, taddr addr, void *buf, size_t n)
{
	const uint8_t *from = reach(addr, n);

	(void)ctx;
	if (from)
		memcpy(buf, from, n);
	return from ? 0 : -EFAULT;
}

static int write_memory(void *ctx, taddr addr, const void *buf, size_t n)
{
	uint8_t *to = reach(addr, n);

	(void)ctx;
	if (to)
		memcpy(to, buf, n);
	return to ? 0 : -EFAULT;
}

static void check_registers(const struct insn *in, struct user_regs_struct *before,
			    struct user_regs_struct *after)
{
	for (unsigned r = 0; r < EMU_REGS; r++)
		promised(*emu_reg_slot(before, r) == *emu_reg_slot(after, r) || in->writes & 1u << r);
	promised(!in->sp_known || after->rsp == before->rsp + (uint64_t)(int64_t)in->sp_change);
	promised(in->flow != FLOW_NEXT || after->rip == in->addr + in->len);
	promised(!in->target_known || in->flow == FLOW_BRANCH || after->rip == in->target);
}

static void run(const struct insn *in)
{
	const struct emu_mem access = { read_memory, write_memory, NULL };
	struct user_regs_struct before = { .rip = in->addr, .eflags = 0x202 }, after;

	for (unsigned r = 0; r < EMU_REGS; r++)
		*emu_reg_slot(&before, r) = MEMORY + BYTES / 2 + 64 * r;
	after = before;
	if (emulate(&in->emu, in->addr, &after, &access) == 0)
		check_registers(in, &before, &after);
	else
		promised(!memcmp(&before, &after, sizeof(after)));
}

static void check_moved(struct decoder *d, const struct insn *in, const uint8_t *code)
{
	uint8_t moved[16];
	struct insn there;
	int n = decode_relocate(d, in, code, CODE + 0x2000, moved, sizeof(moved));

	if (n >= 0)
		promised(n <= 15 && decode(d, moved, (size_t)n, CODE + 0x2000, &there) == 0 &&
			 there.len == n && there.writes == in->writes && there.slot == in->slot);
}

/* The bytes behind an instruction do not matter, and if both decoders report its length they agree. */
static void check_shape(const uint8_t *code, size_t n, const struct insn *in)
{
	struct insn_shape shape, alone;

	if (!insn_shape(code, n, &shape))
		return;
	promised(shape.len >= 1 && shape.len <= 15 && shape.len <= n && (!shape.jump || !shape.call));
	promised(insn_shape(code, shape.len, &alone) && alone.len == shape.len && alone.rel == shape.rel &&
		 alone.call == shape.call);
	promised(!in || in->len == shape.len);
	promised(!in || !in->target_known || in->flow == FLOW_CALL ||
		 (shape.jump && in->target == in->addr + in->len + (taddr)(int64_t)shape.rel));
}

static void check(struct decoder *d, const uint8_t *code, size_t n, struct insn *in)
{
	promised(in->len >= 1 && in->len <= 15 && in->len <= n && memchr(in->text, '\0', sizeof(in->text)));
	promised(in->emu.op < EMU_OPS && (in->emu.op == EMU_NONE || in->emu.len == in->len));
	promised(in->emu.op == EMU_NONE || !in->syscall);
	check_moved(d, in, code);
	run(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct decoder *d;
	struct insn in;

	if (decoder_new(&d))
		return 0;
	memset(memory, 0x40, sizeof(memory));
	for (size_t at = 0; at < size; at += in.len) {
		bool known = decode(d, data + at, size - at, CODE + at, &in) == 0;

		check_shape(data + at, size - at, known ? &in : NULL);
		if (known)
			check(d, data + at, size - at, &in);
		else
			in.len = 1;
	}
	decoder_free(d);
	return 0;
}
