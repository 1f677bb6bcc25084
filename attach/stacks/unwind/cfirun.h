/* SPDX-License-Identifier: MIT */
/*
 * cfirun: run the instructions of call frame information up to an address.
 *
 * An FDE describes one function as a program: "from here on the CFA is rsp+16, from here on rbx is saved at
 * CFA-24". It begins with the state that its CIE's program ends with.
 *
 * This is not libdw's interpreter, because that one trusts the register numbers of a file, which can make it
 * allocate gigabytes; and because libdwfl's unwinder, which runs libdw's, serves as a check of ours. Pure:
 * bytes in, a rule out.
 */
#ifndef MM_UNWIND_CFIRUN_H
#define MM_UNWIND_CFIRUN_H

#include "attach/stacks/unwind/cfirule.h"
#include "symbolize/files/cfisection.h"

#define CFIRUN_REMEMBERED 16		/* nested states; compilers use one or two */
/* a longer program is refused; the longest of a whole system had 21 KB */
#define CFIRUN_BYTES_MAX (1u << 18)

/* The rule at @addr, which is not below lo. 0, or -EINVAL for an invalid program. */
must_check int cfirun(const struct cfi_program *prog, taddr addr, struct cfi_rule *out);

#endif
