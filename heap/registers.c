/* SPDX-License-Identifier: MIT */
#include "heap/registers.h"

#include <string.h>

void registers_general(const struct snapshot_thread *t, uint64_t out[REGISTERS])
{
	const struct user_regs_struct *r = &t->regs;
	const uint64_t all[REGISTERS] = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->r8,
					  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };

	if (t->known)
		memcpy(out, all, sizeof(all));
	else
		memset(out, 0, sizeof(all));
}

bool registers_have_in(const struct snapshot_thread *t, uint64_t lo, uint64_t hi)
{
	uint64_t all[REGISTERS];

	registers_general(t, all);
	for (unsigned i = 0; i < REGISTERS; i++)
		if (all[i] >= lo && all[i] <= hi)
			return true;
	return false;
}
