/* SPDX-License-Identifier: MIT */
/*
 * elfimage: one ELF file of the target, read only, for planning traps.
 *
 * All addresses here are the file's own (ELF vaddr); the caller adds the load bias. The file may be hostile
 * (we may run as root on other users' binaries): it is used only if it is a regular file, and nothing in it
 * is trusted before it is checked against the file's size.
 */
#ifndef MM_ELFIMAGE_H
#define MM_ELFIMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"

struct elfimage;
struct elfslot;

/* A half-open range of code addresses. */
struct code_range {
	taddr lo, hi;
};

/*
 * Open the ELF file behind @fd (which stays the caller's: it is duplicated). @name is for messages. 0;
 * -EINVAL: not a 64-bit x86-64 ELF file, or not regular; -EIO: unreadable.
 */
must_check int elfimage_open(int fd, const char *name, struct elfimage **out);
void elfimage_close(struct elfimage *img);	/* NULL is fine */

/* The file; still owned by the image. */
int elfimage_fd(const struct elfimage *img);

/*
 * The file's libelf handle, to read other tables of it; valid until elfimage_close. The caller must not
 * elf_end it.
 */
struct Elf *elfimage_elf(const struct elfimage *img);

/* GNU build-id; the number of bytes copied to @buf, 0 if there is none. */
size_t elfimage_build_id(const struct elfimage *img, uint8_t *buf, size_t n);

/*
 * true if the code segments are subject to text relocations (DT_TEXTREL): bytes in memory then differ from
 * the file's.
 */
bool elfimage_textrel(const struct elfimage *img);

/*
 * The vaddr at which a PT_LOAD segment maps the page at @file_offset: the address of a mapping with that
 * offset, minus this vaddr, is the load bias. false: no segment has it.
 */
bool elfimage_load_for_offset(const struct elfimage *img, uint64_t file_offset, taddr *vaddr);

/*
 * true if a PT_LOAD segment has @addr in its pages in memory: of data, these go on behind what the file has
 * (.bss).
 */
bool elfimage_loads_at(const struct elfimage *img, taddr addr);

/*
 * The function @name in .symtab or .dynsym of the file itself (separate debug files are not read). Undefined
 * symbols are ignored. For an IFUNC symbol *@ifunc is true: the address is a resolver's. 0, -ENOENT, or
 * -EEXIST if several different addresses have that name (the default version is preferred to older ones, a
 * global symbol to a static one).
 */
must_check int elfimage_find(const struct elfimage *img, const char *name, taddr *addr, uint64_t *size,
			     bool *ifunc);

/* Name of the defined function symbol that starts exactly at @addr, or NULL; owned by @img. */
const char *elfimage_symbol_at(const struct elfimage *img, taddr addr);

/* true if a function that other files or objects can name (not a static one) starts exactly at @addr. */
bool elfimage_is_global(const struct elfimage *img, taddr addr);

/*
 * Name and extent of the function symbol that contains @addr (by st_size), or NULL; never the nearest
 * neighbour.
 */
const char *elfimage_symbol_over(const struct elfimage *img, taddr addr, struct code_range *range);

/*
 * Where the code around @addr begins and ends: the .eh_frame FDE that covers it, else the symbol whose size
 * covers it. false if there is neither.
 */
bool elfimage_extent(const struct elfimage *img, taddr addr, struct code_range *range);

/*
 * The name of the function that the GOT slot @slot is relocated to: JUMP_SLOT, GLOB_DAT by symbol; IRELATIVE
 * by the name of the IFUNC symbol whose resolver it is. NULL if it is unknown; owned by @img.
 */
const char *elfimage_slot_symbol(const struct elfimage *img, taddr slot);

/* The slots whose function is known, by address; owned by the image. */
const struct elfslot *elfimage_slots(const struct elfimage *img, size_t *n);

/* The executable segment number @i, as much of it as the file has; false if there are not so many. */
bool elfimage_code_segment(const struct elfimage *img, size_t i, struct code_range *range);

/* Copy up to @n bytes of code at @addr; the number copied (0 if not in an executable segment). */
size_t elfimage_code(const struct elfimage *img, taddr addr, void *buf, size_t n);

/*
 * @n bytes of padding (nop forms or int3 or zero between functions, covered by no FDE and no symbol, in an
 * executable segment) near the instruction at @insn, for a displaced step of it; 0 if there are none. Every
 * call for one instruction returns the same padding; no two instructions share any.
 */
taddr elfimage_padding(struct elfimage *img, taddr insn, size_t n);

#endif
