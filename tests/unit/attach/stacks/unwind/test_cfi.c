/* SPDX-License-Identifier: MIT */
/*
 * cfi: compared with libdw's reading of the same tables, over every function of the C library; on tables
 * written by hand that compilers do not make; and on damaged ones.
 */
#include "attach/stacks/unwind/cfi.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/probes/code/elfimage.h"
#include "attach/stacks/unwind/cfirun.h"
#include "attach/stacks/unwind/frame.h"
#include "base/fdio.h"
#include "symbolize/files/cfisection.h"

/* --- compared with libdw --- */

static Elf *open_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	assert_true(fd >= 0);
	assert_true(elf_version(EV_CURRENT) != EV_NONE);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	assert_int_equal(elf_cntl(elf, ELF_C_FDREAD), 0);
	close(fd);
	return elf;
}

/* libdw's answer in our form, unless it is an expression or has more than libdw's usual two operations. */
static struct cfi_place place_of(const Dwarf_Op *ops, size_t n, const Dwarf_Op *own)
{
	bool value = n && ops[n - 1].atom == DW_OP_stack_value;

	if (!n)
		return (struct cfi_place){ .how = ops == own ? CFI_UNDEFINED : CFI_SAME };
	if (ops[0].atom == DW_OP_call_frame_cfa && n - value == 1)
		return (struct cfi_place){ .how = value ? CFI_VAL_OFFSET : CFI_OFFSET };
	if (ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst && n - value == 2)
		return (struct cfi_place){
			.how = value ? CFI_VAL_OFFSET : CFI_OFFSET, .offset = (int64_t)ops[1].number,
		};
	if (n == 1 && ops[0].atom == DW_OP_regx)
		return (struct cfi_place){ .how = CFI_REGISTER, .reg = (uint8_t)ops[0].number };
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return (struct cfi_place){ .how = CFI_REGISTER, .reg = (uint8_t)(ops[0].atom - DW_OP_reg0) };
	return (struct cfi_place){ .how = value ? CFI_VAL_EXPRESSION : CFI_EXPRESSION };
}

static void same_place(const struct cfi_place *a, const struct cfi_place *b, taddr at, unsigned reg)
{
	if (a->how != b->how || a->offset != b->offset || a->reg != b->reg)
		fail_msg("at 0x%lx register %u: %u %u %ld and not %u %u %ld", (unsigned long)at, reg, a->how,
			 a->reg, (long)a->offset, b->how, b->reg, (long)b->offset);
}

static void same_cfa(const struct cfi_place *cfa, Dwarf_Frame *frame, taddr at)
{
	Dwarf_Op *ops;
	size_t n;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &n), 0);
	if (n == 1 && ops[0].atom == DW_OP_bregx) {
		same_place(cfa, &(struct cfi_place){ .how = CFI_VAL_OFFSET, .reg = (uint8_t)ops[0].number,
						     .offset = (int64_t)ops[0].number2 }, at, 99);
		return;
	}
	assert_true(n > 0);
	assert_int_equal(cfa->how, CFI_VAL_EXPRESSION);
}

static void same_rule(const struct cfi_rule *rule, Dwarf_CFI *tables, taddr at)
{
	Dwarf_Op own[3], *ops;
	Dwarf_Frame *frame;
	bool signal;
	size_t n;

	assert_int_equal(dwarf_cfi_addrframe(tables, at, &frame), 0);
	assert_int_equal(dwarf_frame_info(frame, NULL, NULL, &signal), FRAME_RIP);
	assert_int_equal(signal, rule->signal);
	same_cfa(&rule->cfa, frame, at);
	for (unsigned reg = 0; reg < FRAME_REGS; reg++) {
		struct cfi_place theirs;

		assert_int_equal(dwarf_frame_register(frame, (int)reg, own, &ops, &n), 0);
		theirs = place_of(ops, n, own);
		/*
		 * If the tables have no rule for a register that calls may change, it is undefined for libdw.
		 */
		if (theirs.how == CFI_UNDEFINED && rule->regs[reg].how == CFI_SAME)
			continue;
		same_place(&rule->regs[reg], &theirs, at, reg);
	}
	free(frame);
}

static size_t compare_file(const char *path, unsigned places)
{
	Elf *elf = open_elf(path);
	Dwarf_CFI *tables = dwarf_getcfi_elf(elf);
	struct cfi_rule rule;
	struct cfi *c;
	size_t n;

	assert_non_null(tables);
	assert_int_equal(cfi_new(elf, &c), 0);
	n = cfi_count(c);
	for (size_t i = 0; i < n; i++) {
		taddr lo, hi;

		cfi_extent(c, i, &lo, &hi);
		for (taddr at = lo; at < hi; at += 1 + (hi - lo) / places) {
			assert_int_equal(cfi_find(c, at, &rule), 0);
			same_rule(&rule, tables, at);
		}
	}
	cfi_free(c);
	dwarf_cfi_end(tables);
	elf_end(elf);
	return n;
}

static void test_libdw_reads_the_same(void **state)
{
	struct link_map *lm;
	void *libc = dlopen("libc.so.6", RTLD_NOW);

	(void)state;
	assert_non_null(libc);
	assert_int_equal(dlinfo(libc, RTLD_DI_LINKMAP, &lm), 0);
	assert_true(compare_file(lm->l_name, 8) > 1000);
	assert_true(compare_file("/proc/self/exe", 64) > 20);
	dlclose(libc);
}

/* --- tables written by hand --- */

struct image {
	int fd;
	Elf *elf;
	struct cfi *c;
};

static Elf_Scn *write_section(Elf *elf, const char *strings, const char *name, uint64_t addr,
			      const void *bytes, size_t n)
{
	Elf_Scn *scn = elf_newscn(elf);
	Elf_Data *data = elf_newdata(scn);
	GElf_Shdr sh;

	assert_non_null(gelf_getshdr(scn, &sh));
	sh.sh_type = strcmp(name, ".shstrtab") ? SHT_PROGBITS : SHT_STRTAB;
	sh.sh_addr = addr;
	sh.sh_name = (GElf_Word)((const char *)memmem(strings, 64, name, strlen(name)) - strings);
	data->d_buf = (void *)(uintptr_t)bytes;
	data->d_size = n;
	data->d_align = 8;
	assert_int_not_equal(gelf_update_shdr(scn, &sh), 0);
	return scn;
}

/* A file of one section, @name, of @n @bytes, at address 0x1000. */
static struct image make(const char *name, const void *bytes, size_t n, bool compressed)
{
	static const char strings[64] = "\0.eh_frame\0.debug_frame\0.shstrtab";
	struct image img = { .fd = memfd_create("cfi", MFD_CLOEXEC) };
	GElf_Ehdr eh;
	Elf_Scn *scn;
	Elf *elf;

	assert_true(img.fd >= 0);
	assert_true(elf_version(EV_CURRENT) != EV_NONE);
	elf = elf_begin(img.fd, ELF_C_WRITE, NULL);
	assert_non_null(elf);
	assert_non_null(gelf_newehdr(elf, ELFCLASS64));
	assert_non_null(gelf_getehdr(elf, &eh));
	eh.e_machine = EM_X86_64;
	eh.e_type = ET_DYN;
	eh.e_shstrndx = 2;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	assert_int_not_equal(gelf_update_ehdr(elf, &eh), 0);
	scn = write_section(elf, strings, name, 0x1000, bytes, n);
	if (compressed)
		assert_int_equal(elf_compress(scn, ELFCOMPRESS_ZLIB, ELF_CHF_FORCE), 1);
	write_section(elf, strings, ".shstrtab", 0, strings, sizeof(strings));
	assert_true(elf_update(elf, ELF_C_WRITE) > 0);
	elf_end(elf);
	img.elf = elf_begin(img.fd, ELF_C_READ, NULL);
	assert_non_null(img.elf);
	assert_int_equal(cfi_new(img.elf, &img.c), 0);
	return img;
}

static void unmake(struct image *img)
{
	cfi_free(img->c);
	elf_end(img->elf);
	close(img->fd);
}

/* A section under construction. */
struct table {
	uint8_t bytes[4096];
	size_t n;
};

static void put(struct table *t, const void *bytes, size_t n)
{
	assert_true(t->n + n <= sizeof(t->bytes));
	if (n)
		memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
}

static void put_number(struct table *t, uint64_t v, size_t size)
{
	put(t, &v, size);
}

static void put_entry_end(struct table *t, size_t length_at, const void *ops, size_t n)
{
	uint32_t length;

	put(t, ops, n);
	while (t->n % 8)
		put_number(t, DW_CFA_nop, 1);
	length = (uint32_t)(t->n - length_at - 4);
	memcpy(t->bytes + length_at, &length, sizeof(length));
}

/* A CIE of .debug_frame: code alignment 1, data alignment -8, return address in 16. */
static void put_debug_cie(struct table *t, const void *ops, size_t n)
{
	size_t at = t->n;

	put_number(t, 0, 4);
	put_number(t, 0xffffffff, 4);
	put(t, "\x03\0\x01\x78\x10", 5);
	put_entry_end(t, at, ops, n);
}

/* Of a function at [lo, lo + length). */
static void put_debug_fde(struct table *t, taddr lo, uint64_t length, const void *ops, size_t n)
{
	size_t at = t->n;

	put_number(t, 0, 4);
	put_number(t, 0, 4);
	put_number(t, lo, 8);
	put_number(t, length, 8);
	put_entry_end(t, at, ops, n);
}

/* .debug_frame of one function at 0x4000 of 256 bytes, with @ops. */
static struct image make_function(const void *ops, size_t n, bool compressed)
{
	static const uint8_t initial[] = { DW_CFA_def_cfa, FRAME_RSP, 8, DW_CFA_offset | FRAME_RIP, 1 };
	struct table t = { .n = 0 };

	put_debug_cie(&t, initial, sizeof(initial));
	put_debug_fde(&t, 0x4000, 0x100, ops, n);
	return make(".debug_frame", t.bytes, t.n, compressed);
}

static void expect(const struct cfi_place *p, enum cfi_how how, unsigned reg, int64_t offset)
{
	assert_int_equal(p->how, how);
	assert_int_equal(p->reg, reg);
	assert_int_equal(p->offset, offset);
}

static void test_instructions(void **state)
{
	static const uint8_t ops[] = {
		DW_CFA_advance_loc | 4,
		DW_CFA_def_cfa_offset,
		16,
		DW_CFA_offset | FRAME_RBP,
		2,
		DW_CFA_advance_loc1,
		4,
		DW_CFA_def_cfa_register,
		FRAME_RBP,
		DW_CFA_remember_state,
		DW_CFA_advance_loc2,
		4,
		0,
		DW_CFA_def_cfa_sf,
		FRAME_R10,
		0x7f,
		DW_CFA_register,
		FRAME_RBX,
		FRAME_R11,
		DW_CFA_val_offset,
		FRAME_R12,
		3,
		DW_CFA_undefined,
		FRAME_R13,
		DW_CFA_offset_extended,
		120,
		1,
		DW_CFA_advance_loc4,
		4,
		0,
		0,
		0,
		DW_CFA_restore_state,
		DW_CFA_offset_extended_sf,
		FRAME_R14,
		0x7e,
		DW_CFA_val_offset_sf,
		FRAME_R15,
		0x7f,
		DW_CFA_val_offset_sf,
		FRAME_R13,
		0x7f,
		DW_CFA_same_value,
		FRAME_R13,
		DW_CFA_undefined,
		FRAME_RAX,
		DW_CFA_advance_loc | 4,
		DW_CFA_restore | FRAME_RBP,
		DW_CFA_restore_extended,
		FRAME_R14,
		DW_CFA_GNU_args_size,
		8,
		DW_CFA_expression,
		FRAME_RBX,
		2,
		DW_OP_breg6,
		8,
		DW_CFA_GNU_negative_offset_extended,
		FRAME_RCX,
		2,
		DW_CFA_set_loc,
		0x20,
		0x40,
		0,
		0,
		0,
		0,
		0,
		0,
		DW_CFA_def_cfa_expression,
		2,
		DW_OP_breg7,
		0,
		DW_CFA_val_expression,
		FRAME_RDX,
		1,
		DW_OP_lit1,
	};
	struct image img = make_function(ops, sizeof(ops), false);
	struct cfi_rule r;

	(void)state;
	assert_int_equal(cfi_find(img.c, 0x4000, &r), 0);
	expect(&r.cfa, CFI_VAL_OFFSET, FRAME_RSP, 8);
	expect(&r.regs[FRAME_RIP], CFI_OFFSET, 0, -8);
	expect(&r.regs[FRAME_RBP], CFI_SAME, 0, 0);
	expect(&r.regs[FRAME_RAX], CFI_SAME, 0, 0);
	expect(&r.regs[FRAME_RSP], CFI_VAL_OFFSET, 0, 0);
	assert_int_equal(cfi_find(img.c, 0x4003, &r), 0);
	expect(&r.cfa, CFI_VAL_OFFSET, FRAME_RSP, 8);
	assert_int_equal(cfi_find(img.c, 0x4004, &r), 0);
	expect(&r.cfa, CFI_VAL_OFFSET, FRAME_RSP, 16);
	expect(&r.regs[FRAME_RBP], CFI_OFFSET, 0, -16);
	assert_int_equal(cfi_find(img.c, 0x4008, &r), 0);
	expect(&r.cfa, CFI_VAL_OFFSET, FRAME_RBP, 16);
	assert_int_equal(cfi_find(img.c, 0x400c, &r), 0);
	expect(&r.cfa, CFI_VAL_OFFSET, FRAME_R10, 8);
	expect(&r.regs[FRAME_RBX], CFI_REGISTER, FRAME_R11, 0);
	expect(&r.regs[FRAME_R12], CFI_VAL_OFFSET, 0, -24);
	expect(&r.regs[FRAME_R13], CFI_UNDEFINED, 0, 0);
	assert_int_equal(cfi_find(img.c, 0x4010, &r), 0);
	expect(&r.cfa, CFI_VAL_OFFSET, FRAME_RBP, 16);
	expect(&r.regs[FRAME_RBX], CFI_SAME, 0, 0);
	expect(&r.regs[FRAME_R14], CFI_OFFSET, 0, 16);
	expect(&r.regs[FRAME_R15], CFI_VAL_OFFSET, 0, 8);
	expect(&r.regs[FRAME_R13], CFI_SAME, 0, 0);
	expect(&r.regs[FRAME_RAX], CFI_UNDEFINED, 0, 0);
	assert_int_equal(cfi_find(img.c, 0x4014, &r), 0);
	expect(&r.regs[FRAME_RBP], CFI_SAME, 0, 0);
	expect(&r.regs[FRAME_R14], CFI_SAME, 0, 0);
	expect(&r.regs[FRAME_RBX], CFI_EXPRESSION, 0, 0);
	expect(&r.regs[FRAME_RCX], CFI_OFFSET, 0, 16);
	assert_int_equal(r.regs[FRAME_RBX].len, 2);
	assert_memory_equal(r.regs[FRAME_RBX].expr, ((uint8_t[]){ DW_OP_breg6, 8 }), 2);
	assert_int_equal(cfi_find(img.c, 0x40ff, &r), 0);
	assert_int_equal(r.cfa.how, CFI_VAL_EXPRESSION);
	assert_int_equal(r.regs[FRAME_RDX].how, CFI_VAL_EXPRESSION);
	assert_int_equal(cfi_find(img.c, 0x4100, &r), -ENOENT);
	assert_int_equal(cfi_find(img.c, 0x3fff, &r), -ENOENT);
	unmake(&img);
}

static void test_compressed(void **state)
{
	static const uint8_t ops[] = { DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 48 };
	struct image img = make_function(ops, sizeof(ops), true);
	struct cfi_rule r;

	(void)state;
	assert_int_equal(cfi_find(img.c, 0x4001, &r), 0);
	expect(&r.cfa, CFI_VAL_OFFSET, FRAME_RSP, 48);
	unmake(&img);
}

static void refused(const void *ops, size_t n)
{
	struct image img = make_function(ops, n, false);
	struct cfi_rule r;

	assert_int_equal(cfi_find(img.c, 0x4000, &r), -EINVAL);
	unmake(&img);
}

static void test_broken_programs(void **state)
{
	static const uint8_t far_register[] = { DW_CFA_def_cfa, 0xff, 0xff, 0xff, 0x0f, 8 };
	static const uint8_t no_such[] = { 0x3f };
	static const uint8_t cut_off[] = {
		DW_CFA_nop, DW_CFA_nop, DW_CFA_nop, DW_CFA_def_cfa_expression, 100,
	};
	static const uint8_t nothing_remembered[] = { DW_CFA_restore_state };
	static const uint8_t backwards[] = { DW_CFA_set_loc, 0, 0x30, 0, 0, 0, 0, 0, 0 };
	uint8_t remembered[CFIRUN_REMEMBERED + 1];

	(void)state;
	memset(remembered, DW_CFA_remember_state, sizeof(remembered));
	refused(far_register, sizeof(far_register));
	refused(no_such, sizeof(no_such));
	refused(cut_off, sizeof(cut_off));
	refused(nothing_remembered, sizeof(nothing_remembered));
	refused(backwards, sizeof(backwards));
	refused(remembered, sizeof(remembered));
}

/* A CFA of which the CIE or the FDE gives only half. */
static void test_half_a_cfa(void **state)
{
	static const uint8_t half[] = { DW_CFA_def_cfa_offset, 8 };
	static const uint8_t behind_an_expression[] = {
		DW_CFA_def_cfa_offset, 24, DW_CFA_def_cfa_expression, 1, DW_OP_lit1, DW_CFA_advance_loc | 1,
		DW_CFA_def_cfa_register, FRAME_RBP,
	};
	struct image img = make_function(behind_an_expression, sizeof(behind_an_expression), false);
	struct table t = { .n = 0 };
	struct cfi_rule r;

	(void)state;
	assert_int_equal(cfi_find(img.c, 0x4000, &r), 0);
	assert_int_equal(r.cfa.how, CFI_VAL_EXPRESSION);
	assert_int_equal(cfi_find(img.c, 0x4001, &r), 0);
	expect(&r.cfa, CFI_VAL_OFFSET, FRAME_RBP, 24);
	unmake(&img);

	put_debug_cie(&t, NULL, 0);
	put_debug_fde(&t, 0x4000, 0x100, half, sizeof(half));
	img = make(".debug_frame", t.bytes, t.n, false);
	assert_int_equal(cfi_find(img.c, 0x4000, &r), -EINVAL);
	unmake(&img);
}

/* Registers that we do not unwind may be named, however large the number. */
static void test_a_register_far_away(void **state)
{
	static const uint8_t ops[] = { DW_CFA_offset_extended, 0xff, 0xff, 0xff, 0xff, 0x07, 1,
				       DW_CFA_undefined,       120 };
	struct image img = make_function(ops, sizeof(ops), false);
	struct cfi_rule r;

	(void)state;
	assert_int_equal(cfi_find(img.c, 0x4000, &r), 0);
	expect(&r.cfa, CFI_VAL_OFFSET, FRAME_RSP, 8);
	unmake(&img);
}

/* Each FDE names another CIE than the one before, and each CIE is a quarter of a megabyte. */
static void test_costly_cies(void **state)
{
	enum { LONG = 256 << 10, FDES = 40000 };
	size_t room = 2 * (LONG + 64) + FDES * 32, cie[2];
	uint8_t *bytes = calloc(1, room), *p = bytes;
	struct image img;

	(void)state;
	assert_non_null(bytes);
	for (int i = 0; i < 2; i++) {
		uint32_t length = LONG + 12;

		cie[i] = (size_t)(p - bytes);
		memcpy(p, &length, 4);
		memcpy(p + 8, "\x01", 1);
		memset(p + 9, 'S', LONG);
		memcpy(p + 9 + LONG, "\0\x01\x78\x10", 4);
		p += 4 + length;
	}
	for (int i = 0; i < FDES; i++, p += 28) {
		const uint32_t head[] = { 24, (uint32_t)((size_t)(p + 4 - bytes) - cie[i % 2]) };
		const uint64_t range[] = { 0x10000 + 16 * (uint64_t)i, 16 };

		memcpy(p, head, sizeof(head));
		memcpy(p + 8, range, sizeof(range));
	}
	alarm(20);
	img = make(".eh_frame", bytes, (size_t)(p - bytes), false);
	alarm(0);
	assert_true(cfi_count(img.c) < FDES);
	unmake(&img);
	free(bytes);
}

/* --- damaged --- */

struct damaged {
	uint8_t *bytes;
	size_t n;
	uint64_t lo, hi;	/* the part of it that is damaged */
};

static void load(struct damaged *d)
{
	Elf *elf = open_elf("/proc/self/exe");
	char *text;
	size_t names;
	GElf_Shdr sh;

	assert_int_equal(read_whole_file("/proc/self/exe", 64 << 20, &text, &d->n), 0);
	d->bytes = (uint8_t *)text;
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)); ) {
		assert_non_null(gelf_getshdr(scn, &sh));
		if (!strcmp(elf_strptr(elf, names, sh.sh_name), ".eh_frame"))
			break;
	}
	d->lo = sh.sh_offset;
	d->hi = sh.sh_offset + sh.sh_size;
	assert_true(d->hi > d->lo && d->hi <= d->n);
	elf_end(elf);
}

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void apply(const struct cfi_rule *rule)
{
	static const uint8_t slice[256];
	const struct unwind_from from = { .slice = slice, .slice_len = sizeof(slice), .slice_addr = 0x7000 };
	struct frame_memory m = { .from = &from };
	struct frame_regs regs = { .r = { [FRAME_RSP] = 0x7040 }, .known = FRAME_BIT(FRAME_REGS) - 1 };
	int err = frame_step(rule, true, FRAME_BIT(FRAME_REGS) - 1, &m, &regs);

	assert_true(!err || err == -EINVAL || err == -EFAULT || err == -ENODATA);
	assert_true(m.used <= sizeof(slice));
}

/* Whatever rule it gives for an address can be applied. */
static void ask_everywhere(const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("damaged", MFD_CLOEXEC);
	struct elfimage *img;
	struct cfi_rule rule;
	struct cfi *c;

	assert_int_equal(write_full(fd, bytes, n), 0);
	assert_int_equal(elfimage_open(fd, "damaged", &img), 0);
	close(fd);
	assert_int_equal(cfi_new(elfimage_elf(img), &c), 0);
	for (size_t i = 0; i < cfi_count(c); i++) {
		taddr lo, hi;

		cfi_extent(c, i, &lo, &hi);
		for (unsigned k = 0; k < 5; k++) {
			int err = cfi_find(c, lo + (hi - 1 - lo) / 4 * k, &rule);

			assert_true(!err || err == -EINVAL || err == -ENOENT);
			if (!err)
				apply(&rule);
		}
	}
	cfi_free(c);
	elfimage_close(img);
}

/* Strip tools may remove the section headers too; what the program itself needs stays. */
static void test_without_section_headers(void **state)
{
	size_t n, with;
	char *text;
	Elf *elf = open_elf("/proc/self/exe");
	struct cfi *c;

	(void)state;
	assert_int_equal(cfi_new(elf, &c), 0);
	with = cfi_count(c);
	cfi_free(c);
	elf_end(elf);
	assert_int_equal(read_whole_file("/proc/self/exe", 64 << 20, &text, &n), 0);
	((Elf64_Ehdr *)text)->e_shoff = 0;
	((Elf64_Ehdr *)text)->e_shnum = ((Elf64_Ehdr *)text)->e_shstrndx = 0;
	elf = elf_memory(text, n);
	assert_non_null(elf);
	assert_int_equal(cfi_new(elf, &c), 0);
	assert_int_equal(cfi_count(c), with);
	cfi_free(c);
	elf_end(elf);
	free(text);
}

static void test_damaged(void **state)
{
	uint64_t seed = 88172645463325252u;
	struct damaged d;

	(void)state;
	load(&d);
	alarm(120);
	for (unsigned round = 0; round < 200; round++) {
		uint8_t was[16];
		uint64_t at[16];
		unsigned n = 1 + (unsigned)(draw(&seed) % 16);

		for (unsigned i = 0; i < n; i++) {
			at[i] = d.lo + draw(&seed) % (d.hi - d.lo);
			was[i] = d.bytes[at[i]];
			d.bytes[at[i]] = (uint8_t)draw(&seed);
		}
		ask_everywhere(d.bytes, d.n);
		while (n--)
			d.bytes[at[n]] = was[n];
	}
	alarm(0);
	free(d.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libdw_reads_the_same),
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_without_section_headers),
		cmocka_unit_test(test_broken_programs),
		cmocka_unit_test(test_half_a_cfa),
		cmocka_unit_test(test_a_register_far_away),
		cmocka_unit_test(test_costly_cies),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
