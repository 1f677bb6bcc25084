/* SPDX-License-Identifier: MIT */
/*
 * elfnames: see elfnames.h. The addresses are sorted; the debug information names as many as it can, symbols
 * the rest; then names are demangled.
 */
#include "symbolize/elfnames.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/strbuf.h"
#include "symbolize/demangle.h"
#include "symbolize/dwarf/dwarfnames.h"
#include "symbolize/files/debugfile.h"
#include "symbolize/files/debuginfod.h"
#include "symbolize/files/elffile.h"
#include "symbolize/files/symtab.h"

#define NAME_MAX_BYTES (1u << 16)	/* a longer one is ignored */

struct wanted {
	taddr addr;
	size_t i;	/* in the caller's order */
};

/* Names of the frames of one answer: offsets while the text is still growing. */
struct text {
	struct strbuf buf;
	size_t function[DWARF_FRAMES_MAX], linkage[DWARF_FRAMES_MAX], file[DWARF_FRAMES_MAX];
};

#define NO_TEXT SIZE_MAX

struct files {
	struct elffile elf, debug, alt;
	Elf *dwarf;	/* which of them has the debug information; NULL: none */
};

struct state {
	const struct elfnames *l;
	struct files files;
	struct symtab *symbols;
	struct wanted *wanted;
	taddr *addrs;	/* sorted */
	bool *taken;
	struct text text;
};

static bool has_debug_info(Elf *elf)
{
	GElf_Shdr sh;

	return elffile_section(elf, ".debug_info", &sh) || elffile_section(elf, ".zdebug_info", &sh);
}

static bool has_symbols(Elf *elf)
{
	GElf_Shdr sh;

	return elffile_section(elf, ".symtab", &sh);
}

static int fetch(const struct elfnames *l, Elf *elf, struct elffile *out)
{
	struct build_id id;

	elffile_build_id(elf, &id);
	return debuginfod_open(&id, l->alive, l->ctx, out);
}

/* The debug file may also have symbols that the file itself lacks. */
static void open_debug(const struct elfnames *l, struct files *f)
{
	Elf *elf = f->elf.elf;
	int rc = -ENOENT;

	if (!has_debug_info(elf) || !has_symbols(elf))
		rc = debugfile_open(elf, l->file->path, l->file->root, &f->debug);
	if (rc && l->opt->debuginfod && !has_debug_info(elf))
		rc = fetch(l, elf, &f->debug);
	if (rc)
		f->debug = (struct elffile)ELFFILE_INIT;
}

static int open_files(const struct elfnames *l, struct files *f)
{
	int rc;

	*f = (struct files){ ELFFILE_INIT, ELFFILE_INIT, ELFFILE_INIT, NULL };
	rc = elffile_open(fcntl(l->file->fd, F_DUPFD_CLOEXEC, 0), &f->elf);
	if (rc)
		return rc;
	open_debug(l, f);
	if (has_debug_info(f->elf.elf))
		f->dwarf = f->elf.elf;
	else if (f->debug.elf && has_debug_info(f->debug.elf))
		f->dwarf = f->debug.elf;
	if (!f->dwarf || !l->dwarf || debugfile_open_alt(f->dwarf, l->file->root, &f->alt))
		f->alt = (struct elffile)ELFFILE_INIT;
	return 0;
}

static void close_files(struct files *f)
{
	elffile_close(&f->alt);
	elffile_close(&f->debug);
	elffile_close(&f->elf);
}

/* Append a string with its NUL; returns where it begins. */
static size_t add_text(struct strbuf *buf, const char *dir, const char *s)
{
	size_t at = buf->len;

	if (!s || strnlen(s, NAME_MAX_BYTES) == NAME_MAX_BYTES ||
	    (dir && strnlen(dir, NAME_MAX_BYTES) == NAME_MAX_BYTES))
		return NO_TEXT;
	if (dir) {
		strbuf_puts(buf, dir);
		strbuf_putc(buf, '/');
	}
	strbuf_puts(buf, s);
	strbuf_putc(buf, '\0');
	return at;
}

/*
 * Frame @j is called @name, demangled; @symbol is what the linker calls it, NULL if it has no other name for
 * it.
 */
static void add_function(struct state *s, size_t j, const char *name, const char *symbol)
{
	struct text *text = &s->text;
	size_t at = text->buf.len;

	if (name && s->l->opt->demangle && demangle(name, &text->buf)) {
		strbuf_putc(&text->buf, '\0');
		text->function[j] = at;
		text->linkage[j] = add_text(&text->buf, NULL, name);
		return;
	}
	text->function[j] = add_text(&text->buf, NULL, name);
	text->linkage[j] = NO_TEXT;
	if (text->function[j] != NO_TEXT && symbol && strcmp(name, symbol))
		text->linkage[j] = add_text(&text->buf, NULL, symbol);
}

static const char *text_at(const struct text *text, size_t at)
{
	return at == NO_TEXT || strbuf_error(&text->buf) ? NULL : strbuf_str(&text->buf) + at;
}

static bool is_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

/*
 * For functions that no other file can name (a lambda's, say) compilers write only the bare name,
 * "operator()", in the debug information; the symbol has the full name.
 */
static void add_outermost(struct state *s, size_t k, size_t j, const struct dwarf_frame *from)
{
	const char *symbol = from->function && from->linkage ? NULL : symtab_find(s->symbols, s->addrs[k]);

	if (!from->function || (symbol && is_mangled(symbol)))
		add_function(s, j, symbol, NULL);
	else
		add_function(s, j, from->function, symbol);
}

/* dwarfnames_take: complete the answer for the @k-th sorted address. */
static void take(void *ctx, size_t k, const struct dwarf_frame *from, size_t n)
{
	struct state *s = ctx;
	struct text *text = &s->text;
	struct names_frame frames[DWARF_FRAMES_MAX];

	strbuf_reset(&text->buf);
	for (size_t j = 0; j < n; j++) {
		if (j == n - 1)
			add_outermost(s, k, j, &from[j]);
		else
			add_function(s, j, from[j].function, NULL);
		text->file[j] = add_text(&text->buf, from[j].source.dir, from[j].source.file);
	}
	for (size_t j = 0; j < n; j++) {
		frames[j] = (struct names_frame){
			.function = text_at(text, text->function[j]),
			.linkage = text_at(text, text->linkage[j]),
			.file = text_at(text, text->file[j]), .line = from[j].source.line,
			.inlined = j < n - 1,
		};
	}
	s->taken[k] = true;
	s->l->take(s->l->ctx, s->wanted[k].i, frames, n);
}

static int compare_wanted(const void *pa, const void *pb)
{
	const struct wanted *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->i < b->i ? -1 : a->i > b->i;
}

static int sort_addresses(struct state *s)
{
	size_t n = s->l->n;

	s->wanted = calloc(n + 1, sizeof(*s->wanted));
	s->addrs = calloc(n + 1, sizeof(*s->addrs));
	s->taken = calloc(n + 1, sizeof(*s->taken));
	if (!s->wanted || !s->addrs || !s->taken)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		s->wanted[i] = (struct wanted){ s->l->addrs[i], i };
	if (n)
		qsort(s->wanted, n, sizeof(*s->wanted), compare_wanted);
	for (size_t i = 0; i < n; i++)
		s->addrs[i] = s->wanted[i].addr;
	return 0;
}

static void read_dwarf(struct state *s)
{
	int rc = dwarfnames_run(s->files.dwarf, s->files.alt.elf, s->addrs, s->l->n, take, s);

	if (rc == -ENOENT)
		s->l->note(s->l->ctx, "its debug information cannot be read");
	else if (rc)
		s->l->note(s->l->ctx, "a part of its debug information cannot be read");
}

static int run(struct state *s)
{
	const struct dwarf_frame nothing = { 0 };
	int rc = sort_addresses(s);

	if (!rc)
		rc = symtab_new(s->files.elf.elf, s->files.debug.elf, &s->symbols);
	if (rc)
		return rc;
	if (s->l->dwarf && s->files.dwarf)
		read_dwarf(s);
	for (size_t k = 0; k < s->l->n; k++) {
		if (!s->taken[k])
			take(s, k, &nothing, 1);
	}
	return 0;
}

int elfnames_run(const struct elfnames *l)
{
	struct state s = { .l = l };
	int rc = open_files(l, &s.files);

	if (rc)
		return rc;
	l->opened(l->ctx);
	rc = run(&s);
	symtab_free(s.symbols);
	strbuf_fini(&s.text.buf);
	free(s.wanted);
	free(s.addrs);
	free(s.taken);
	close_files(&s.files);
	return rc;
}
