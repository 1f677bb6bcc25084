/* SPDX-License-Identifier: MIT */
/*
 * libunwind: see libunwind.h.
 *
 * The accessors of libunwind-ptrace would call ptrace, which only the keeper may, and map files by their
 * paths; so they are our own: registers from the event, memory through /proc/PID/mem, and .eh_frame_hdr found
 * by the program headers of the files that attach/target/modules.h has opened. libunwind reads that table,
 * and what it leads to, in the target's memory.
 */
#include "attach/stacks/unwind/libunwind.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "attach/keeper/procfs.h"
#include "attach/stacks/unwind/frame.h"
#include "attach/target/modules.h"
#include "base/fdio.h"
#include "base/log.h"

/* Exported, and used by others (perf), but in no header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_unwind_info, void *arg);

struct unwind_libunwind {
	pid_t pid;
	int mem;
	struct modules *ms;
	unw_addr_space_t space;
	struct frame_regs regs;		/* of the thread being unwound */
};

/* Where the file's .eh_frame_hdr is, in its own addresses. */
static bool find_eh_frame_hdr(Elf *elf, GElf_Phdr *out)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) || n > UINT16_MAX)
		return false;
	for (size_t i = 0; i < n && gelf_getphdr(elf, (int)i, out); i++) {
		if (out->p_type == PT_GNU_EH_FRAME)
			return true;
	}
	return false;
}

/*
 * version 1; eh_frame_ptr of four bytes; a count of four bytes; a table of pairs of four bytes, relative to
 * itself
 */
static bool read_header(const struct unwind_libunwind *l, taddr at, uint32_t *count)
{
	static const uint8_t usual[] = {
		1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4, DW_EH_PE_datarel | DW_EH_PE_sdata4,
	};
	uint8_t header[12];

	if (pread_full(l->mem, header, sizeof(header), (off_t)at) != sizeof(header) ||
	    memcmp(header, usual, sizeof(usual)))
		return false;
	memcpy(count, header + 8, sizeof(*count));
	return true;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg)
{
	const struct unwind_libunwind *l = arg;
	const struct module *m = modules_find(l->ms, ip);
	unw_dyn_info_t di = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	GElf_Phdr ph;
	uint32_t count;

	if (!m || !m->img || !find_eh_frame_hdr(elfimage_elf(m->img), &ph) ||
	    !read_header(l, ph.p_vaddr + m->bias, &count))
		return -UNW_ENOINFO;
	di.start_ip = m->lo;
	di.end_ip = m->hi;
	di.u.rti.segbase = ph.p_vaddr + m->bias;
	di.u.rti.table_data = di.u.rti.segbase + 12;
	di.u.rti.table_len = (unw_word_t)count * 8 / sizeof(unw_word_t);
	return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &di, pi, need, arg);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *pi, void *arg)
{
	(void)space, (void)pi, (void)arg;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *list, void *arg)
{
	(void)space, (void)list, (void)arg;
	return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t space, unw_word_t addr, unw_word_t *value, int write, void *arg)
{
	const struct unwind_libunwind *l = arg;

	(void)space;
	if (write)
		return -UNW_EINVAL;
	return pread_full(l->mem, value, sizeof(*value), (off_t)addr) == sizeof(*value) ? 0 : -UNW_EINVAL;
}

/* libunwind numbers the registers as DWARF does. */
static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write, void *arg)
{
	const struct unwind_libunwind *l = arg;

	(void)space;
	if (write || reg < 0 || reg >= FRAME_REGS)
		return -UNW_EBADREG;
	*value = l->regs.r[reg];
	return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write, void *arg)
{
	(void)space, (void)reg, (void)value, (void)write, (void)arg;
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg)
{
	(void)space, (void)cursor, (void)arg;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t ip, char *buf, size_t n, unw_word_t *offset,
			 void *arg)
{
	(void)space, (void)ip, (void)buf, (void)n, (void)offset, (void)arg;
	return -UNW_ENOINFO;
}

static unw_addr_space_t make_space(void)
{
	unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	unw_addr_space_t space = unw_create_addr_space(&accessors, 0);

	if (space)
		unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
	return space;
}

/* Reopened after an exec: an open /proc/PID/mem stays bound to the memory that it was opened for. */
static int open_mem(struct unwind_libunwind *l)
{
	if (l->mem >= 0)
		close(l->mem);
	/* through a live thread: the process's first one may have ended */
	l->mem = procfs_open_mem(l->pid);
	return l->mem < 0 ? l->mem : 0;
}

int unwind_libunwind_new(pid_t pid, struct unwind_libunwind **out)
{
	struct unwind_libunwind *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->pid = pid;
	l->mem = -1;
	err = open_mem(l);
	if (!err)
		err = modules_new(pid, &l->ms);
	if (!err) {
		l->space = make_space();
		err = l->space ? 0 : -ENOMEM;
	}
	if (err) {
		unwind_libunwind_free(l);
		return err;
	}
	*out = l;
	return 0;
}

void unwind_libunwind_free(struct unwind_libunwind *l)
{
	if (!l)
		return;
	if (l->space)
		unw_destroy_addr_space(l->space);
	modules_free(l->ms);
	if (l->mem >= 0)
		close(l->mem);
	free(l);
}

/* Its cache of program counters is flushed, too. */
void unwind_libunwind_modules_changed(struct unwind_libunwind *l)
{
	int err = open_mem(l);

	if (!err)
		err = modules_refresh(l->ms, false);
	if (err && err != -ENOENT && err != -ESRCH)
		log_warn_errno(err, "cannot read the mappings of %d", (int)l->pid);
	unw_flush_cache(l->space, 0, 0);
}

/* 0 if there is one more frame, else how the stack ended. */
static int step(unw_cursor_t *cursor, taddr *frame, enum unwind_end *end)
{
	int more = unw_step(cursor);
	unw_word_t pc = 0;

	if (more > 0 && unw_get_reg(cursor, UNW_REG_IP, &pc) < 0)
		more = -UNW_EUNSPEC;
	*end = more < 0 ? UNWIND_LOST : UNWIND_WHOLE;
	if (more <= 0 || !pc)
		return 1;
	/* libunwind calls the frame that the signal interrupted a signal frame. */
	*frame = pc | (unw_is_signal_frame(cursor) > 0 ? UNWIND_EXACT : 0);
	return 0;
}

void unwind_libunwind(struct unwind_libunwind *l, const struct user_regs_struct *regs, bool returned,
		      uint32_t max, struct unwind_stack *out)
{
	unw_cursor_t cursor;

	*out = (struct unwind_stack){ .n = 1, .end = UNWIND_LOST };
	out->frames[0] = regs->rip | (returned ? 0 : UNWIND_EXACT);
	frame_begin(regs, &l->regs);
	/* libunwind takes the first pc as exact, not as a return address: let it look inside the call. */
	if (returned)
		l->regs.r[FRAME_RIP]--;
	if (unw_init_remote(&cursor, l->space, l) < 0)
		return;
	for (taddr frame; !step(&cursor, &frame, &out->end); out->frames[out->n++] = frame) {
		if (out->n >= max || out->n == UNWIND_MAX) {
			out->end = UNWIND_DEEP;
			return;
		}
	}
}
