/* SPDX-License-Identifier: MIT */
/* A frame of a stack. */
#include "report/fields/fields.h"
#include "report/fields/table.h"

#define FRAME(F)											\
	F(address, pc, ALL, f->pc, "The address, as it was found.")					\
	F(string, module, ALL, f->module, "Path of the program or library; empty if not known.")	\
	F(string, build_id, ALL, f->build_id, "Hexadecimal; empty if the module has none.")		\
	F(address, offset, ALL, f->offset, "Address in the module, as in its ELF file.")		\
	F(string, function, ALL, f->function,								\
	  "As the debug information has it, demangled; empty if not known.")				\
	F(string, linkage, ALL | OPT, WHEN(f->linkage, f->linkage),					\
	  "Name for the linker, where it is known and another one.")					\
	F(string, file, ALL, f->file, "Source file; empty if not known.")				\
	F(uint, line, ALL, f->line > 0 ? (uint64_t)f->line : 0, "0 if not known.")			\
	F(bool, inlined, ALL, f->inlined, "Its caller is the next frame of the same code.")

FIELDS(frame, const struct summary_frame *f, FRAME, "A frame of a stack.");
