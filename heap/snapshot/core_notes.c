/* SPDX-License-Identifier: MIT */
/*
 * core_notes: threads, mapped files, the program.
 *
 * The notes of each thread begin with its NT_PRSTATUS, and end before the next one. The first thread is the
 * one that died, or the one that gdb had selected. Numbers and texts are copied before they are checked: the
 * file is mapped, and could change.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>

#include "heap/snapshot/core_parts.h"

#define VECTORS_MAX 65536u
#define FXSAVE_SIZE 512u	/* size of NT_FPREGSET; XSTATE begins with the same data */

_Static_assert(sizeof(elf_gregset_t) == sizeof(struct user_regs_struct), "registers of a thread");

struct desc {
	const uint8_t *p;
	uint64_t n;
};

static int take_thread(struct core *c, struct desc d)
{
	struct snapshot_thread t = { .known = true };
	struct elf_prstatus st;

	if (d.n < sizeof(st)) {
		c->info->damaged++;
		return 0;
	}
	memcpy(&st, d.p, sizeof(st));
	memcpy(&t.regs, &st.pr_reg, sizeof(t.regs));
	t.tid = st.pr_pid;
	t.sp = t.regs.rsp;
	if (!c->s->nthreads)
		c->info->signal = st.pr_cursig;
	return snapshot_add_thread(c->s, &t);
}

/* Vector registers of the last thread that was read; of several notes, the largest is used. */
static int take_vectors(struct core *c, struct desc d, size_t at_least)
{
	struct snapshot_thread *t = c->s->nthreads ? &c->s->threads[c->s->nthreads - 1] : NULL;
	uint8_t *copy;

	if (!t || d.n < at_least || d.n > VECTORS_MAX) {
		c->info->damaged++;
		return 0;
	}
	if (d.n <= t->nvectors)
		return 0;
	copy = malloc(d.n);
	if (!copy)
		return -ENOMEM;
	if (snapshot_own(c->s, copy, 0) < 0) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, d.p, d.n);
	t->vectors = copy;
	t->nvectors = d.n;
	return 0;
}

static void take_process(struct core *c, struct desc d)
{
	struct elf_prpsinfo ps;

	if (d.n < sizeof(ps)) {
		c->info->damaged++;
		return;
	}
	memcpy(&ps, d.p, sizeof(ps));
	c->s->pid = ps.pr_pid;
	memcpy(c->s->comm, ps.pr_fname, sizeof(c->s->comm) - 1);
	memcpy(c->info->args, ps.pr_psargs, sizeof(c->info->args) - 1);
}

static void take_signal(struct core *c, struct desc d)
{
	int32_t head[3];	/* signo, errno, code */

	if (d.n < 24) {
		c->info->damaged++;
		return;
	}
	memcpy(head, d.p, sizeof(head));
	c->info->signal = head[0];
	c->info->code = head[2];
	if (head[0] == SIGSEGV || head[0] == SIGBUS)
		memcpy(&c->info->fault, d.p + 16, sizeof(c->info->fault));
}

static void take_auxv(struct core *c, struct desc d)
{
	Elf64_auxv_t a;

	for (uint64_t at = 0; d.n - at >= sizeof(a); at += sizeof(a)) {
		memcpy(&a, d.p + at, sizeof(a));
		switch (a.a_type) {
		case AT_NULL:
			return;
		case AT_PHDR:
			c->info->phdr = a.a_un.a_val;
			break;
		case AT_ENTRY:
			c->info->entry = a.a_un.a_val;
			break;
		case AT_BASE:
			c->info->base = a.a_un.a_val;
			break;
		case AT_SYSINFO_EHDR:
			c->info->vdso = a.a_un.a_val;
			break;
		case AT_RANDOM:
			c->stack = a.a_un.a_val;
			break;
		}
	}
}

static int by_address(const void *a, const void *b)
{
	const struct core_file *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Removes elements that make no sense, or overlap the one before. */
static void sort_files(struct core *c)
{
	size_t kept = 0;

	if (c->nfiles)
		qsort(c->files, c->nfiles, sizeof(*c->files), by_address);
	for (size_t i = 0; i < c->nfiles; i++) {
		const struct core_file *f = &c->files[i];

		if (f->lo >= f->hi || !*f->path || (kept && c->files[kept - 1].hi > f->lo))
			c->info->damaged++;
		else
			c->files[kept++] = *f;
	}
	c->nfiles = kept;
}

/*
 * @text (@n bytes and a NUL): count, page size, count times (begin, end, page in the file), count paths. If
 * it is cut, the remaining part is used.
 */
static int parse_files(struct core *c, char *text, uint64_t n)
{
	uint64_t head[2], one[3], paths;

	if (n < sizeof(head))
		return 0;
	memcpy(head, text, sizeof(head));
	if (head[0] > (n - sizeof(head)) / sizeof(one)) {
		c->info->damaged++;
		return 0;
	}
	c->files = calloc(head[0] + 1, sizeof(*c->files));
	if (!c->files)
		return -ENOMEM;
	paths = sizeof(head) + head[0] * sizeof(one);
	for (uint64_t i = 0; i < head[0] && paths < n; i++) {
		memcpy(one, text + sizeof(head) + i * sizeof(one), sizeof(one));
		c->files[c->nfiles++] = (struct core_file){ one[0], one[1], one[2] * head[1], text + paths };
		paths += strlen(text + paths) + 1;
	}
	if (c->nfiles < head[0])
		c->info->damaged++;
	sort_files(c);
	return 0;
}

static int take_files(struct core *c, struct desc d)
{
	char *text;

	if (c->s->maps.text) {
		c->info->damaged++;
		return 0;
	}
	text = malloc(d.n + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, d.p, d.n);
	text[d.n] = '\0';
	c->s->maps.text = text;
	return parse_files(c, text, d.n);
}

static int take(struct core *c, const char *name, uint32_t type, struct desc d)
{
	if (!strcmp(name, "LINUX"))
		return type == NT_X86_XSTATE ? take_vectors(c, d, FXSAVE_SIZE) : 0;
	if (strcmp(name, "CORE"))
		return 0;
	switch (type) {
	case NT_PRSTATUS:
		return take_thread(c, d);
	case NT_FPREGSET:
		return take_vectors(c, d, FXSAVE_SIZE);
	case NT_FILE:
		return take_files(c, d);
	case NT_PRPSINFO:
		take_process(c, d);
		return 0;
	case NT_SIGINFO:
		take_signal(c, d);
		return 0;
	case NT_AUXV:
		take_auxv(c, d);
		return 0;
	}
	return 0;
}

static uint64_t round_up(uint64_t n)
{
	return (n + 3) & ~3ull;
}

/* Each length in a note is below 2^32, so no sum overflows. */
static int read_segment(struct core *c, const struct core_note *note)
{
	const uint8_t *p = c->bytes + note->offset;
	int err = 0;

	for (uint64_t at = 0, name, desc; !err && note->size - at >= sizeof(Elf64_Nhdr); at = desc) {
		Elf64_Nhdr nh;
		char text[8] = "";

		memcpy(&nh, p + at, sizeof(nh));
		name = at + sizeof(nh);
		desc = name + round_up(nh.n_namesz);
		if (desc > note->size || note->size - desc < nh.n_descsz) {
			c->info->damaged += !note->cut;
			return 0;
		}
		if (nh.n_namesz <= sizeof(text))
			memcpy(text, p + name, nh.n_namesz);
		text[sizeof(text) - 1] = '\0';
		err = take(c, text, nh.n_type, (struct desc){ p + desc, nh.n_descsz });
		desc += round_up(nh.n_descsz);
		if (desc > note->size)
			break;
	}
	return err;
}

int core_read_notes(struct core *c)
{
	for (size_t i = 0; i < c->nnotes; i++) {
		int err = c->notes[i].size ? read_segment(c, &c->notes[i]) : 0;

		if (err)
			return err;
	}
	c->info->no_notes = !c->s->nthreads;
	return 0;
}
