/* SPDX-License-Identifier: MIT */
/*
 * cfirun: run the instructions of call frame information up to an address.
 *
 * An FDE describes one function as a program: "from here on the CFA is rsp+16,
 * from here on rbx is saved at CFA-24". It begins where its CIE's program ends.
 *
 * Our own, because libdw's believes a file in register numbers and so can be
 * led to take gigabytes; and because libdwfl's unwinder, which runs libdw's, is to be a
 * check of ours. Pure: bytes in, a rule out.
 */
#ifndef MM_UNWIND_CFIRUN_H
#define MM_UNWIND_CFIRUN_H

#include "attach/stacks/unwind/cfirule.h"
#include "symbolize/files/cfisection.h"

#define CFIRUN_REMEMBERED 16		/* states within each other; compilers use one or two */
#define CFIRUN_BYTES_MAX (1u << 18)	/* a longer program is refused; the longest of a whole system had 21 KB */

/* The rule at @addr, not below lo. 0, or -EINVAL for a program that is none. */
must_check int cfirun(const struct cfi_program *prog, taddr addr, struct cfi_rule *out);

#endif
