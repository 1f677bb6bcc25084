/* SPDX-License-Identifier: MIT */
#include "attach/verdicts/dying.h"

#include <string.h>
#include <sys/syscall.h>

#include "attach/stacks/unwind/unwind.h"
#include "attach/target/modules.h"
#include "heap/snapshot/snapshot.h"

/* What a program calls to end; the outermost one counts. */
static const char *const exits[] = { "exit", "quick_exit", "_exit", "_Exit" };

static bool is_exit(void *ctx, taddr pc)
{
	const struct module *m = modules_find(ctx, pc);
	struct code_range range;
	const char *name = m && m->img ? elfimage_symbol_over(m->img, pc - m->bias, &range) : NULL;

	for (size_t i = 0; name && i < sizeof(exits) / sizeof(exits[0]); i++)
		if (!strcmp(name, exits[i]))
			return true;
	return false;
}

static int read_copy(void *ctx, taddr addr, void *buf, size_t n)
{
	return snapshot_read(ctx, addr, buf, n);
}

static void step_out(struct snapshot *s, struct snapshot_thread *t, const struct modules *ms,
		     struct unwinder *u)
{
	const struct unwind_from from = {
		.regs = &t->regs, .slice_addr = t->sp, .read = read_copy, .ctx = s,
	};
	struct user_regs_struct caller;

	if (!unwind_out_of(u, &from, is_exit, (void *)ms, &caller))
		return;
	caller.fs_base = t->regs.fs_base;
	caller.gs_base = t->regs.gs_base;
	caller.orig_rax = t->regs.orig_rax;
	t->regs = caller;
	t->sp = caller.rsp;
	t->in_call = true;
	/* the callee may change all of these */
	t->nvectors = 0;
}

void dying_step_out(struct snapshot *s, const struct modules *ms, struct unwinder *u)
{
	for (size_t i = 0; i < s->nthreads; i++) {
		struct snapshot_thread *t = &s->threads[i];

		if (t->known && !t->running && t->regs.orig_rax == SYS_exit_group)
			step_out(s, t, ms, u);
	}
}
