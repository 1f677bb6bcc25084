/* SPDX-License-Identifier: MIT */
/*
 * suppress_write: an entry that matches a stack, here and in valgrind.
 *
 * It begins with "...", because the two see different functions in front: valgrind has the allocator's own,
 * and its own names for operator new and strdup; so the wrappers are left out, too. It ends with main,
 * because valgrind shows nothing below that, or where a thread begins.
 */
#include "report/suppress/suppress.h"

#include <stdbool.h>
#include <string.h>

#include "report/names/shortname.h"
#include "report/names/wrappers.h"
#include "report/suppress/suppress_entry.h"
#include "symbolize/rust/rust_legacy.h"
#include "symbolize/rust/rust_v0.h"

#define FRAMES_MAX (SUPPRESS_LINES_MAX - 4)
#define NAME_MAX_BYTES 1000	/* valgrind limits the length of lines */

/* Is it a frame outside of main, where a thread begins? The two tools do not show the same frames there. */
static bool is_below_the_program(const struct summary_frame *f)
{
	static const char *const names[] = { "_start",
					     "start_thread",
					     "__libc_start_main",
					     "__libc_start_call_main",
					     "__libc_start_main_impl",
					     "__clone3",
					     "__clone",
					     "clone",
					     "clone3" };

	for (size_t i = 0; f->function && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(f->function, names[i]))
			return true;
	return false;
}

/* Blanks at the ends of a line do not count. */
static bool is_plain(const char *name, size_t n, size_t i)
{
	return (name[i] > ' ' && name[i] < 0x7f) || (name[i] == ' ' && i && i + 1 < n);
}

/* A character that a line of the file cannot contain becomes '?'. */
static void put_glob(struct strbuf *sb, const char *prefix, const char *name)
{
	size_t n = strlen(name), shown = n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES;

	strbuf_printf(sb, "   %s:", prefix);
	for (size_t i = 0; i < shown; i++)
		strbuf_putc(sb, is_plain(name, n, i) ? name[i] : '?');
	strbuf_puts(sb, shown < n ? "*\n" : "\n");
}

static bool has_name(const struct summary_frame *f)
{
	return (f->function && *f->function) || (f->module && *f->module);
}

static bool is_rust(const char *linkage)
{
	cleanup_strbuf struct strbuf readable = STRBUF_INIT;

	return rust_legacy(linkage, &readable) || rust_v0(linkage, &readable);
}

/*
 * As valgrind names it (see means_inlined in suppress_entry.c), with any template arguments. Rust's old
 * mangling leaves them out.
 */
static void put_inlined(struct strbuf *sb, const struct summary_frame *f)
{
	cleanup_strbuf struct strbuf base = STRBUF_INIT;
	bool templated;

	shortname_base(&base, f->function, &templated);
	if (f->linkage && is_rust(f->linkage))
		strbuf_putc(&base, '*');
	else if (templated)
		strbuf_puts(&base, strbuf_str(&base)[base.len - 1] == '<' ? " <*" : "<*");
	put_glob(sb, "fun", strbuf_str(&base));
}

static void put_frame(struct strbuf *sb, const struct summary_frame *f)
{
	if (f->inlined && f->function && *f->function)
		put_inlined(sb, f);
	else if (f->function && *f->function)
		put_glob(sb, "fun", f->linkage && *f->linkage ? f->linkage : f->function);
	else
		put_glob(sb, "obj", f->module && *f->module ? f->module : "*");
}

void suppressions_generate(const struct summary_frame *frames, size_t n, enum suppress_kind kind,
			   enum verdict verdict, size_t number, struct strbuf *sb)
{
	size_t from = wrappers_count(frames, n), to = from;
	const char *what = kind == SUPPRESS_FREE ? "double free" : "leak";
	bool says = false;

	for (; to < n && to - from < FRAMES_MAX && !is_below_the_program(&frames[to]); to++) {
		says |= has_name(&frames[to]);
		if (frames[to].function && !strcmp(frames[to].function, "main")) {
			to++;
			break;
		}
	}
	if (!says) {
		strbuf_printf(sb, "# %s %zu cannot be suppressed: nothing is known of its stack\n", what,
			      number);
		return;
	}
	strbuf_printf(sb, "{\n   %s %zu\n   Memcheck,mmattach:%s\n", what, number,
		      kind == SUPPRESS_FREE ? "Free" : "Leak");
	if (kind == SUPPRESS_LEAK)
		strbuf_printf(sb, "   match-leak-kinds: %s\n",
			      verdict == VERDICT_UNKNOWN ? "all" : verdict_name(verdict));
	strbuf_puts(sb, "   ...\n");
	for (size_t i = from; i < to; i++)
		put_frame(sb, &frames[i]);
	strbuf_puts(sb, "}\n");
}
