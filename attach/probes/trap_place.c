/* SPDX-License-Identifier: MIT */
/* trap_place: choosing the instruction under a trap. */
#include "attach/probes/trap_place.h"

#include <errno.h>
#include <string.h>

#define ENTRY_WALK 32	/* instructions looked at from the entry on */
#define JUMP 5		/* bytes of a jump to a 32-bit displacement */

/* Memory that is mapped and that no other thread writes: the module's, the thread's (fs), its stack. */
static bool own_memory(const struct emu_operand *op)
{
	return op->index == EMU_NOREG && (op->base == EMU_NOREG || op->base == EMU_RSP);
}

static bool reads_own(const struct emu *e)
{
	if (e->op == EMU_LEA)
		return true;
	return (e->src.kind != EMU_MEM || own_memory(&e->src)) &&
	       (e->dst.kind != EMU_MEM || own_memory(&e->dst));
}

/* A push or call writes too, but below the thread's own rsp. */
static bool writes_memory(const struct emu *e)
{
	return e->dst.kind == EMU_MEM && e->op != EMU_CMP && e->op != EMU_TEST;
}

static bool leaves_shadow_stack(const struct trap_place *p, const struct emu *e)
{
	return p->shadow_stack && (e->op == EMU_RET || e->op == EMU_CALL);
}

static bool is_exact(const struct trap_place *p, const struct insn *in)
{
	const struct emu *e = &in->emu;

	return e->op != EMU_NONE && reads_own(e) && !writes_memory(e) && !leaves_shadow_stack(p, e);
}

static bool decode_site(const struct trap_place *p, taddr addr, struct site *out, struct insn *in)
{
	*out = (struct site){ .addr = addr };
	out->nbytes = (uint8_t)elfimage_code(p->img, addr, out->bytes, sizeof(out->bytes));
	if (!out->nbytes || decode(p->d, out->bytes, out->nbytes, addr, in))
		return false;
	out->emu = in->emu;
	return true;
}

/*
 * Can a thread's pc be one byte after the start of @in without a hit? Then a SIGTRAP of another origin at
 * that pc would be taken for a hit.
 */
static bool next_byte_is_code(const struct trap_place *p, const struct insn *in)
{
	struct insn next;
	uint8_t code[SITE_BYTES];
	taddr addr = in->addr + 1;
	size_t n;

	if (p->body && body_jumps_to(p->body, addr))
		return true;
	if (in->len > 1)
		return false;
	if (in->flow != FLOW_RET)
		return true;
	if (p->body && p->body->nextents && !body_covers(p->body, addr))
		return false;
	n = elfimage_code(p->img, addr, code, sizeof(code));
	return !n || decode(p->d, code, n, addr, &next) || !next.padding;
}

static void finish(const struct trap_place *p, const struct insn *in, struct site *out)
{
	if (next_byte_is_code(p, in))
		out->flags |= SITE_SIGINFO;
}

/* --- traps of the kernel --- */

/*
 * What the kernel carries out itself at a uprobe: push, jumps, calls and nop. Others it runs as a copy,
 * single-stepped, which takes several times as long.
 */
static bool kernel_emulates(const uint8_t *code, size_t n)
{
	const uint8_t next = n > 1 ? code[1] : 0;

	if (code[0] == 0x41 && next >= 0x50 && next <= 0x57)
		return true;
	if (code[0] == 0x0f)
		return next >= 0x80 && next <= 0x8f;
	return (code[0] >= 0x50 && code[0] <= 0x57) || (code[0] >= 0x70 && code[0] <= 0x7f) || code[0] == 0x90 ||
	       code[0] == 0xe8 || code[0] == 0xe9 || code[0] == 0xeb;
}

/* It refuses instructions with some prefixes: lock, and those of segments but fs and gs. */
static bool kernel_refuses(const uint8_t *code, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (code[i]) {
		case 0xf0:
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			return true;
		case 0x66:
		case 0x67:
		case 0xf2:
		case 0xf3:
		case 0x64:
		case 0x65:
			continue;
		default:
			return false;
		}
	}
	return true;
}

static bool kernel_traps(const struct trap_place *p, taddr addr, struct site *out, struct insn *in)
{
	return decode_site(p, addr, out, in) && !kernel_refuses(out->bytes, out->nbytes);
}

static int place_at(const struct trap_place *p, taddr entry, struct site *out)
{
	struct insn in;

	return kernel_traps(p, entry, out, &in) ? 0 : -EILSEQ;
}

static bool is_good_at_entry(const struct trap_place *p, const struct insn *in, const struct site *s)
{
	return p->kernel ? kernel_emulates(s->bytes, s->nbytes) : is_exact(p, in);
}

static int fall_back_at_entry(const struct trap_place *p, taddr entry, struct site *out)
{
	return p->kernel ? place_at(p, entry, out) : trap_place_displaced(p, entry, out);
}

/* --- traps of the keeper --- */

int trap_place_emulated(const struct trap_place *p, taddr addr, struct site *out)
{
	struct insn in;

	if (p->kernel)
		return kernel_traps(p, addr, out, &in) ? 0 : -EILSEQ;
	if (!decode_site(p, addr, out, &in) || !is_exact(p, &in))
		return -EILSEQ;
	finish(p, &in, out);
	return 0;
}

/* The jump from behind the instruction at scratch to behind the displaced one. false: out of reach. */
static bool add_way_back(struct site *out, uint8_t len)
{
	const int64_t disp = (int64_t)(out->addr + len - (out->scratch + len + JUMP));

	if (disp != (int32_t)disp)
		return false;
	out->step[len] = 0xe9;
	memcpy(out->step + len + 1, &(int32_t){ (int32_t)disp }, sizeof(int32_t));
	return true;
}

static taddr padding_for(const struct trap_place *p, const struct insn *in, uint8_t *len)
{
	taddr addr = 0;

	*len = (uint8_t)(in->len + JUMP);
	if (*len <= SITE_BYTES)
		addr = elfimage_padding(p->img, in->addr, *len);
	if (addr)
		return addr;
	*len = in->len;
	return elfimage_padding(p->img, in->addr, *len);
}

static int fill_scratch(const struct trap_place *p, const struct insn *in, struct site *out)
{
	uint8_t len;

	/* try it at its own address first: padding is scarce, and what was given out is never free again */
	if (decode_relocate(p->d, in, out->bytes, in->addr, out->step, sizeof(out->step)) < 0)
		return -EILSEQ;
	out->scratch = padding_for(p, in, &len);
	if (!out->scratch)
		return -EILSEQ;
	if (decode_relocate(p->d, in, out->bytes, out->scratch, out->step, sizeof(out->step)) < 0 ||
	    elfimage_code(p->img, out->scratch, out->scratch_bytes, sizeof(out->scratch_bytes)) < len)
		return -EILSEQ;
	if (len > in->len && !add_way_back(out, in->len))
		len = in->len;
	out->step_len = len;
	return 0;
}

int trap_place_displaced(const struct trap_place *p, taddr addr, struct site *out)
{
	struct insn in;

	if (!decode_site(p, addr, out, &in))
		return -EILSEQ;
	out->emu = (struct emu){ .op = EMU_NONE, .len = in.len };
	if (fill_scratch(p, &in, out))
		return -EILSEQ;
	finish(p, &in, out);
	return 0;
}

int trap_place_anyhow(const struct trap_place *p, taddr addr, struct site *out)
{
	struct insn in;

	if (!trap_place_emulated(p, addr, out) || !trap_place_displaced(p, addr, out))
		return 0;
	/*
	 * A system call may sleep: stepped in place, it would leave the trap lifted for as long. So would one
	 * that follows an instruction which loses the step.
	 */
	if (!decode_site(p, addr, out, &in) || in.syscall || in.loses_step || in.flow == FLOW_STOP)
		return -EILSEQ;
	if (writes_memory(&in.emu) || leaves_shadow_stack(p, &in.emu))
		out->emu = (struct emu){ .op = EMU_NONE, .len = in.len };
	finish(p, &in, out);
	return 0;
}

static bool is_taken(const struct trap_place *p, taddr addr)
{
	for (size_t i = 0; i < p->ntaken; i++) {
		if (p->taken[i] == addr)
			return true;
	}
	return false;
}

/* A jump back to @addr would hit the trap again in the same call. */
static bool entered_once(const struct trap_place *p, taddr addr, taddr entry)
{
	if (addr == entry)
		return true;
	return p->body && p->body->nextents && addr < p->body->extents[0].hi && !body_jumps_to(p->body, addr);
}

static bool passable(const struct trap_place *p, const struct insn *in)
{
	return in->flow == FLOW_NEXT && !in->syscall && in->sp_known && !(in->writes & p->wanted) &&
	       !(p->memory && in->stores);
}

int trap_place_entry(const struct trap_place *p, taddr entry, struct site *out)
{
	taddr addr = entry;
	int32_t pushed = 0;

	for (unsigned i = 0; i < ENTRY_WALK && pushed <= INT16_MAX && pushed >= 0; i++) {
		struct insn in;

		if (!decode_site(p, addr, out, &in) || (addr != entry && !entered_once(p, addr, entry)))
			break;
		if (is_good_at_entry(p, &in, out) && !is_taken(p, addr)) {
			out->sp_delta = (int16_t)pushed;
			finish(p, &in, out);
			return 0;
		}
		if (!passable(p, &in))
			break;
		pushed -= in.sp_change;
		addr += in.len;
	}
	return is_taken(p, entry) ? -EILSEQ : fall_back_at_entry(p, entry, out);
}

/* The kernel replaces the return address, where rsp points to: so nothing may have been pushed. */
int trap_place_returns(const struct trap_place *p, taddr entry, struct site *out)
{
	return trap_place_entry(p, entry, out) == 0 && !out->sp_delta ? 0 : place_at(p, entry, out);
}
