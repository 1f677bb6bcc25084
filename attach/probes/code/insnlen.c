/* SPDX-License-Identifier: MIT */
/*
 * insnlen: two maps of opcodes, drawn as the processor manuals draw them, a row for each first digit.
 *
 *	[prefixes] [REX] opcode | 0f opcode | 0f 38 opcode | 0f 3a opcode   [ModRM [SIB] [disp]] [immediate]
 *	VEX (c4, c5), EVEX (62): payload, opcode of one of these maps        ModRM always, except vzeroupper
 *
 * What follows an opcode:
 *
 *	.  nothing         m  ModRM                       b  8 bits               r  8 bits: where it jumps
 *	-  no such opcode  M  ModRM, 8 bits               w  16 bits              R  32 bits: where it jumps
 *	p  a prefix        Z  ModRM, 32 bits, 16 with 66  z  32 bits, 16 with 66  e  16 and 8 bits
 *	x  see the code    g, G  as m, but test: M, Z     v  z, 64 bits if REX.W  a  64-bit address, 32 if 67
 *	                   c  ModRM, of registers only
 *
 * tests/test_callsites.py compares it with objdump.
 */
#include "attach/probes/code/insnlen.h"

#include <string.h>

#define LONGEST 15

static const char one_byte[] =
	/*	 0123456789abcdef */
	/* 0 */ "mmmmbz--mmmmbz-x"
	/* 1 */ "mmmmbz--mmmmbz--"
	/* 2 */ "mmmmbzp-mmmmbzp-"
	/* 3 */ "mmmmbzp-mmmmbzp-"
	/* 4 */ "pppppppppppppppp"
	/* 5 */ "................"
	/* 6 */ "--xmppppzZbM...."
	/* 7 */ "rrrrrrrrrrrrrrrr"
	/* 8 */ "MZ-Mmmmmmmmmmmmx"
	/* 9 */ "..........-....."
	/* a */ "aaaa....bz......"
	/* b */ "bbbbbbbbvvvvvvvv"
	/* c */ "MMw.xxMxe.w..b-."
	/* d */ "mmmm---.mmmmmmmm"
	/* e */ "rrrrbbbbRR-r...."
	/* f */ "p.pp..gG......mm";

static const char two_bytes[] =
	/*	 0123456789abcdef */
	/* 0 */ "mmmm-.....-.-m.M"
	/* 1 */ "mmmmmmmmmmmmmmmm"
	/* 2 */ "cccc----mmmmmmmm"
	/* 3 */ "......-.x-x-----"
	/* 4 */ "mmmmmmmmmmmmmmmm"
	/* 5 */ "mmmmmmmmmmmmmmmm"
	/* 6 */ "mmmmmmmmmmmmmmmm"
	/* 7 */ "MMMMmmm.xx--mmmm"
	/* 8 */ "RRRRRRRRRRRRRRRR"
	/* 9 */ "mmmmmmmmmmmmmmmm"
	/* a */ "...mMm--...mMmmm"
	/* b */ "mmmmmmmmm-Mmmmmm"
	/* c */ "mmMmMMMm........"
	/* d */ "mmmmmmmmmmmmmmmm"
	/* e */ "mmmmmmmmmmmmmmmm"
	/* f */ "mmmmmmmmmmmmmmm-";

/* An instruction, of which the bytes before @at have been read. */
struct reading {
	const uint8_t *p;
	size_t n, at;
	bool word, address, lock, repeat;	/* 66, 67, f0, and f2 or f3 */
	uint8_t rex;
};

/* The next byte; 0 if there are no more: then the length exceeds @n, which is detected at the end. */
static uint8_t next(struct reading *r)
{
	uint8_t byte = r->at < r->n ? r->p[r->at] : 0;

	r->at++;
	return byte;
}

static uint8_t peek(const struct reading *r)
{
	return r->at < r->n ? r->p[r->at] : 0;
}

static void read_prefixes(struct reading *r)
{
	for (; r->at < LONGEST && one_byte[peek(r)] == 'p'; r->at++) {
		uint8_t byte = peek(r);
		bool is_rex = byte >> 4 == 4;

		r->rex = is_rex ? byte : 0;	/* a REX that is not the last prefix is ignored */
		r->word |= byte == 0x66;
		r->address |= byte == 0x67;
		r->lock |= byte == 0xf0;
		r->repeat |= byte == 0xf2 || byte == 0xf3;
	}
}

/* ModRM, and the SIB and displacement that it announces. */
static void skip_modrm(struct reading *r)
{
	uint8_t modrm = next(r), mod = modrm >> 6, base = modrm & 7;

	if (mod == 3)
		return;
	if (base == 4)
		base = next(r) & 7;
	if (mod == 1)
		r->at += 1;
	else if (mod == 2 || base == 5)
		r->at += 4;
}

static size_t word_size(const struct reading *r)
{
	return r->word && !(r->rex & 8) ? 2 : 4;
}

/* test has an immediate, the others of its group (f6, f7) do not. */
static bool is_test(const struct reading *r)
{
	return !(peek(r) & 0x30);
}

/* What follows an opcode that is @what on the map. */
static bool skip_operands(struct reading *r, char what)
{
	bool test = is_test(r);

	if (what == 'c')
		r->at++;
	else if (strchr("mMZgG", what))
		skip_modrm(r);
	switch (what) {
	case '.':
	case 'm':
	case 'c':
		return true;
	case 'b':
	case 'r':
	case 'M':
		r->at += 1;
		return true;
	case 'w':
		r->at += 2;
		return true;
	case 'e':
		r->at += 3;
		return true;
	case 'z':
	case 'Z':
		r->at += word_size(r);
		return true;
	case 'v':
		r->at += r->rex & 8 ? 8 : word_size(r);
		return true;
	case 'a':
		r->at += r->address ? 4 : 8;
		return true;
	case 'g':
		r->at += test;
		return true;
	case 'G':
		r->at += test ? word_size(r) : 0;
		return true;
	case 'R':
		r->at += 4;	/* with 66: 16 bits on AMD's processors, 32 on Intel's */
		return !r->word || r->rex & 8;
	}
	return false;
}

/*
 * The opcode after VEX or EVEX, of map 1 (0f), 2 (0f 38), 3 (0f 3a); EVEX has 5 and 6 as well, which are like
 * 2.
 */
static bool skip_vector(struct reading *r, unsigned map)
{
	uint8_t opcode = next(r);

	if (r->word || r->lock || r->repeat || r->rex || !map || map == 4 || map > 6)
		return false;
	if (map == 1 && opcode == 0x77)
		return true;
	return skip_operands(r, map == 3 || (map == 1 && two_bytes[opcode] == 'M') ? 'M' : 'm');
}

static bool skip_two_bytes(struct reading *r)
{
	uint8_t opcode = next(r);

	if (opcode == 0x38 || opcode == 0x3a) {
		r->at++;
		return skip_operands(r, opcode == 0x38 ? 'm' : 'M');
	}
	if (opcode == 0x78 || opcode == 0x79)	/* vmread and vmwrite; with a prefix an AMD instruction */
		return !r->word && !r->repeat && skip_operands(r, 'm');
	return skip_operands(r, two_bytes[opcode]);
}

/* 8f is pop, or AMD's XOP: encoded as VEX, with maps 8 (followed by 8 bits), 9, and 10 (by 32). */
static bool skip_8f(struct reading *r)
{
	unsigned map = peek(r) & 0x1f;

	if (!(peek(r) & 0x38))
		return skip_operands(r, 'm');
	r->at += 3;
	if (r->word || r->lock || r->repeat || r->rex || map < 8 || map > 10)
		return false;
	return skip_operands(r, "MmZ"[map - 8]);
}

static bool skip_special(struct reading *r, uint8_t opcode)
{
	unsigned map;

	switch (opcode) {
	case 0x0f:
		return skip_two_bytes(r);
	case 0x8f:
		return skip_8f(r);
	case 0xc7:	/* mov; followed by f8 it is xbegin, whose jump has 16 bits with 66 */
		return !(r->word && peek(r) == 0xf8) && skip_operands(r, 'Z');
	case 0xc5:
		r->at++;
		return skip_vector(r, 1);
	case 0xc4:
		map = next(r) & 0x1f;
		r->at++;
		return map <= 3 && skip_vector(r, map);
	case 0x62:
		map = next(r) & 7;
		r->at += 2;
		return skip_vector(r, map);
	}
	return false;
}

static bool is_rel8(const uint8_t *op)
{
	return one_byte[*op] == 'r';
}

static bool is_rel32(const uint8_t *op)
{
	/* the last: xbegin */
	return *op == 0xe9 || (*op == 0x0f && op[1] >> 4 == 8) || (*op == 0xc7 && op[1] == 0xf8);
}

/* The control flow of the instruction whose opcode is at @op. */
static void find_flow(const uint8_t *op, struct insn_shape *out, const uint8_t *end)
{
	unsigned group = op[0] == 0xff ? op[1] >> 3 & 7 : 0;

	out->call = *op == 0xe8 || group == 2;
	out->leaves = *op == 0xe9 || *op == 0xeb || *op == 0xc3 || *op == 0xc2 || group == 4 || group == 5;
	if (is_rel8(op)) {
		out->jump = true;
		out->rel = (int8_t)end[-1];
	} else if (is_rel32(op)) {
		out->jump = true;
		memcpy(&out->rel, end - 4, sizeof(out->rel));
	}
}

bool insn_shape(const uint8_t *p, size_t n, struct insn_shape *out)
{
	struct reading r = { .p = p, .n = n };
	size_t start;
	uint8_t opcode;
	char what;

	read_prefixes(&r);
	start = r.at;
	opcode = next(&r);
	what = one_byte[opcode];
	if (what == 'p' || !(what == 'x' ? skip_special(&r, opcode) : skip_operands(&r, what)))
		return false;
	if (r.at > n || r.at > LONGEST)
		return false;
	*out = (struct insn_shape){ .len = (uint8_t)r.at };
	find_flow(p + start, out, p + r.at);
	return true;
}
