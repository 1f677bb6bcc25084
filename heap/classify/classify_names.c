/* SPDX-License-Identifier: MIT */
/*
 * classify_names: demangled names, made in a separate process.
 *
 * The process is forked from us, so it has the classes. It answers with a length and a text for each class in
 * turn, and may die at any of them: that class keeps the name it has, and another process continues after it,
 * a few times.
 */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr_search.h"
#include "base/fdio.h"
#include "base/grow.h"
#include "base/strbuf.h"
#include "heap/classify/classify_parts.h"
#include "heap/snapshot/jailed.h"
#include "symbolize/demangle.h"
#include "symbolize/files/elffile.h"

#define MEMORY (512u << 20)
#define SECONDS 10
#define TRIES 4
#define TEXT_MAX 65536u
#define SYMBOLS_MAX (16u << 20)

struct job {
	const struct classify *c;
	size_t from;		/* the first class to answer for */
};

/* --- in the other process --- */

struct vtable {
	taddr lo, hi;		/* where a vptr can point: after its first two words */
	const char *name;	/* "_ZTV3Foo" */
};

/* The vtables in a file's symbols, read once: there can be many classes, and more symbols. */
struct vtables {
	const struct backing_file *file;
	struct vtable *v;
	size_t n, room;
	struct vtables *next;
};

static int by_address(const void *a, const void *b)
{
	const struct vtable *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

static void read_table(struct vtables *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data ? data->d_size / sizeof(Elf64_Sym) : 0;

	for (size_t i = 0; i < n && i < SYMBOLS_MAX; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF || sym.st_size <= 16 ||
		    sym.st_size > UINT64_MAX - sym.st_value)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (!name || strncmp(name, "_ZTV", 4))
			continue;
		if (grow_for(&t->v, t->n, &t->room, sizeof(*t->v)) < 0)
			return;
		t->v[t->n++] = (struct vtable){ sym.st_value + 16, sym.st_value + sym.st_size, name };
	}
}

static void read_tables(struct vtables *t)
{
	Elf *elf =
		elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_memory((char *)t->file->bytes, t->file->size);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (!elf || !elffile_is_ours(elf))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, &sh) && (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM))
			read_table(t, elf, scn, &sh);
	}
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_address);
}

static const struct vtables *tables_of(const struct backing_file *file, struct vtables **all)
{
	struct vtables *t = *all;

	while (t && t->file != file)
		t = t->next;
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->file = file;
	t->next = *all;
	*all = t;
	read_tables(t);
	return t;
}

/* Vtables do not overlap: only the last one that begins before it can contain it. */
static const char *find_symbol(const struct class *k, struct vtables **all)
{
	const struct vtables *t = tables_of(k->file, all);
	const size_t n = t ? ADDR_SEARCH(t->v, t->n, lo, k->vaddr) : 0;

	return n && k->vaddr < t->v[n - 1].hi ? t->v[n - 1].name : NULL;
}

/* "vtable for app::Widget" -> "app::Widget" */
static void make_readable(const char *mangled, const char *prefix, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;

	if (demangle(mangled, &text) && !strncmp(strbuf_str(&text), prefix, strlen(prefix)))
		strbuf_puts(out, strbuf_str(&text) + strlen(prefix));
	else
		strbuf_puts(out, mangled + 4);
	strbuf_fini(&text);
}

static void name_one(const struct class *k, struct vtables **all, struct strbuf *out)
{
	const char *symbol = k->type ? NULL : find_symbol(k, all);
	struct strbuf mangled = STRBUF_INIT;

	if (k->type) {
		strbuf_printf(&mangled, "_ZTS%s", k->type);
		make_readable(strbuf_str(&mangled), "typeinfo name for ", out);
	} else if (symbol) {
		make_readable(symbol, "vtable for ", out);
	}
	if (out->len && k->array)
		strbuf_puts(out, "[]");
	strbuf_fini(&mangled);
}

/* Its memory is not freed: the process ends. */
static void work(void *ctx, int out)
{
	const struct job *job = ctx;
	struct vtables *all = NULL;

	for (size_t i = job->from; i < job->c->n; i++) {
		struct strbuf name = STRBUF_INIT;
		uint32_t n;

		if (job->c->classes[i].settled)
			continue;
		name_one(&job->c->classes[i], &all, &name);
		n = name.len < TEXT_MAX ? (uint32_t)name.len : 0;
		if (strbuf_error(&name) || write_full(out, &n, sizeof(n)) ||
		    write_full(out, strbuf_str(&name), n))
			return;
		strbuf_fini(&name);
	}
}

/* --- in this process --- */

/* Reads the answer for @k. 1; 0: there is none; -ENOMEM. */
static int take(struct classify *c, struct class *k, struct jailed *j)
{
	cleanup_free char *text = NULL;
	uint32_t n;

	if (!jailed_read(j, &n, sizeof(n)) || n >= TEXT_MAX)
		return 0;
	text = malloc(n + 1);
	if (!text)
		return -ENOMEM;
	if (!jailed_read(j, text, n))
		return 0;
	text[n] = '\0';
	if (n) {
		k->name = intern_text(&c->pool, text);
		if (!k->name)
			return -ENOMEM;
	}
	k->settled = true;
	return 1;
}

/* Run one process; @at: the next class, before and afterwards. */
static int run(struct classify *c, size_t *at)
{
	struct job job = { c, *at };
	struct jailed j;
	int got = jailed_start(work, &job, MEMORY, SECONDS, &j);

	if (got)
		return got;
	for (got = 1; *at < c->n && got > 0; *at += got > 0) {
		struct class *k = &c->classes[*at];

		got = k->settled ? 1 : take(c, k, &j);
	}
	jailed_stop(&j);
	return got < 0 ? got : 0;
}

/* A class without an answer keeps its mangled name. */
static int settle(struct classify *c, struct class *k)
{
	struct strbuf text = STRBUF_INIT;

	k->settled = true;
	if (!k->type || !k->array)
		return 0;
	strbuf_printf(&text, "%s[]", k->type);
	k->name = intern_text(&c->pool, strbuf_str(&text));
	strbuf_fini(&text);
	return k->name ? 0 : -ENOMEM;
}

int classify_names(struct classify *c)
{
	size_t at = 0;
	int err = 0;

	for (int i = 0; i < TRIES && !err && at < c->n; i++) {
		err = run(c, &at);
		if (!err && at < c->n)
			err = settle(c, &c->classes[at++]);
	}
	for (; at < c->n; at++) {
		if (!c->classes[at].settled && settle(c, &c->classes[at]) < 0)
			return -ENOMEM;
	}
	return err;
}
