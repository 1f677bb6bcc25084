/* SPDX-License-Identifier: MIT */
/*
 * dwfl: see dwfl.h. The files are those that attach/target/modules.h has opened; libdwfl opens none
 * by itself and looks for no debug files.
 */
#include "attach/stacks/unwind/dwfl.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>

#include "attach/keeper/procfs.h"
#include "attach/stacks/unwind/frame.h"
#include "attach/target/modules.h"
#include "base/fdio.h"
#include "base/log.h"

struct unwind_dwfl {
	pid_t pid;
	int mem;
	struct modules *ms;
	Dwfl *dwfl;			/* NULL: libdwfl failed */
	struct frame_regs regs;		/* of the thread being unwound */
	bool unread;	/* memory that was asked for could not be read */
};

/* The walk over one stack. */
struct walk {
	struct unwind_stack *out;
	uint32_t max;
};

static int find_elf(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base, char **path, Elf **elf)
{
	const struct module *m = *user;

	(void)mod, (void)name, (void)base, (void)path;
	/* A reference of its own: libdwfl calls elf_end on it. */
	if (m && m->img)
		*elf = elf_begin(-1, ELF_C_READ, elfimage_elf(m->img));
	return -1;
}

static int find_debuginfo(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base, const char *path,
			  const char *link, GElf_Word crc, char **found)
{
	(void)mod, (void)user, (void)name, (void)base, (void)path, (void)link, (void)crc, (void)found;
	return -1;
}

static pid_t next_thread(Dwfl *dwfl, void *ctx, void **thread)
{
	(void)dwfl, (void)ctx, (void)thread;
	return 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *ctx, void **thread)
{
	(void)dwfl, (void)tid;
	*thread = ctx;
	return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *out, void *ctx)
{
	struct unwind_dwfl *d = ctx;

	(void)dwfl;
	if (pread_full(d->mem, out, sizeof(*out), (off_t)addr) == sizeof(*out))
		return true;
	d->unread = true;
	return false;
}

static bool set_registers(Dwfl_Thread *thread, void *ctx)
{
	const struct unwind_dwfl *d = ctx;

	return dwfl_thread_state_registers(thread, 0, FRAME_REGS, d->regs.r);
}

static const Dwfl_Callbacks callbacks = { .find_elf = find_elf, .find_debuginfo = find_debuginfo };
static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers,
};

static int report_modules(struct unwind_dwfl *d)
{
	dwfl_report_begin(d->dwfl);
	for (size_t i = 0; i < modules_count(d->ms); i++) {
		struct module *m = modules_at(d->ms, i);
		Dwfl_Module *mod;
		void **user;

		if (m->gone || !m->img)
			continue;
		mod = dwfl_report_module(d->dwfl, m->path, m->lo, m->hi);
		if (!mod)
			return -EIO;
		dwfl_module_info(mod, &user, NULL, NULL, NULL, NULL, NULL, NULL);
		*user = m;
	}
	return dwfl_report_end(d->dwfl, NULL, NULL) ? -EIO : 0;
}

/* Begin from scratch, since libdwfl takes a module of the same name and address for the same one. */
static int begin(struct unwind_dwfl *d)
{
	dwfl_end(d->dwfl);
	d->dwfl = dwfl_begin(&callbacks);
	if (d->dwfl && !report_modules(d) && dwfl_attach_state(d->dwfl, NULL, d->pid, &thread_callbacks, d))
		return 0;
	log_warn("libdwfl cannot unwind %d: %s", (int)d->pid, dwfl_errmsg(-1));
	dwfl_end(d->dwfl);
	d->dwfl = NULL;
	return -EIO;
}

/* Reopened after an exec: an open /proc/PID/mem stays bound to the memory that it was opened for. */
static int open_mem(struct unwind_dwfl *d)
{
	if (d->mem >= 0)
		close(d->mem);
	/* through a live thread: the process's first one may have ended */
	d->mem = procfs_open_mem(d->pid);
	return d->mem < 0 ? d->mem : 0;
}

int unwind_dwfl_new(pid_t pid, struct unwind_dwfl **out)
{
	struct unwind_dwfl *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->pid = pid;
	d->mem = -1;
	err = open_mem(d);
	if (!err)
		err = modules_new(pid, &d->ms);
	if (!err)
		err = begin(d);
	if (err) {
		unwind_dwfl_free(d);
		return err;
	}
	*out = d;
	return 0;
}

void unwind_dwfl_free(struct unwind_dwfl *d)
{
	if (!d)
		return;
	dwfl_end(d->dwfl);
	modules_free(d->ms);
	if (d->mem >= 0)
		close(d->mem);
	free(d);
}

void unwind_dwfl_modules_changed(struct unwind_dwfl *d)
{
	int err = open_mem(d);

	if (!err)
		err = modules_refresh(d->ms, false);
	if (err && err != -ENOENT && err != -ESRCH)
		log_warn_errno(err, "cannot read the mappings of %d", (int)d->pid);
	(void)begin(d);
}

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct walk *w = arg;
	Dwarf_Addr pc;
	bool exact;

	if (!dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	if (!pc && w->out->n) {
		w->out->end = UNWIND_WHOLE;
		return DWARF_CB_ABORT;
	}
	if (w->out->n >= w->max) {
		w->out->end = UNWIND_DEEP;
		return DWARF_CB_ABORT;
	}
	w->out->frames[w->out->n++] = pc | (exact ? UNWIND_EXACT : 0);
	return DWARF_CB_OK;
}

/*
 * libdwfl reports "activation" both for the interrupted frame and for the signal's own frame before it, which
 * is a return address: only the former was interrupted where it is.
 */
static void mark_interrupted_only(struct unwind_stack *st)
{
	for (uint32_t i = 1; i + 1 < st->n; i++) {
		if (st->frames[i] & st->frames[i + 1] & UNWIND_EXACT)
			st->frames[i++] &= ~UNWIND_EXACT;
	}
}

void unwind_dwfl(struct unwind_dwfl *d, const struct user_regs_struct *regs, bool returned, uint32_t max,
		 struct unwind_stack *out)
{
	struct walk w = { .out = out, .max = max < UNWIND_MAX ? max : UNWIND_MAX };

	out->n = out->used = 0;
	out->guessed = false;
	out->end = UNWIND_LOST;
	frame_begin(regs, &d->regs);
	/* libdwfl takes the first pc as exact, not as a return address: let it look inside the call. */
	if (returned)
		d->regs.r[FRAME_RIP]--;
	d->unread = false;
	if (d->dwfl && !dwfl_getthread_frames(d->dwfl, d->pid, take_frame, &w))
		/* if memory cannot be read, it ends as if the stack were whole */
		out->end = d->unread ? UNWIND_LOST : UNWIND_WHOLE;
	mark_interrupted_only(out);
	out->frames[0] = regs->rip | (returned ? 0 : UNWIND_EXACT);
	if (!out->n)
		out->n = 1;
}
