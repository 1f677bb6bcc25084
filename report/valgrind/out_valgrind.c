/* SPDX-License-Identifier: MIT */
/* out_valgrind: see out_valgrind.h. */
#include "report/valgrind/out_valgrind.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/version.h"
#include "report/export/export.h"
#include "report/formats.h"
#include "report/model/format_text.h"
#include "report/words/words.h"

/* --- XML --- */

/* U+FFFE and U+FFFF, three bytes each, are no characters of XML. */
static bool is_no_character(const char *p)
{
	return !strncmp(p, "\xef\xbf\xbe", 3) || !strncmp(p, "\xef\xbf\xbf", 3);
}

/* Control characters, which XML does not allow, are escaped as in the text report. */
static void put_text(struct strbuf *sb, const char *text)
{
	cleanup_strbuf struct strbuf safe = STRBUF_INIT;

	strbuf_text(&safe, text);
	for (const char *p = strbuf_str(&safe); *p; p++) {
		if (*p == '&') {
			strbuf_puts(sb, "&amp;");
		} else if (*p == '<') {
			strbuf_puts(sb, "&lt;");
		} else if (*p == '>') {
			strbuf_puts(sb, "&gt;");
		} else if (is_no_character(p)) {
			strbuf_puts(sb, "\xef\xbf\xbd");
			p += 2;
		} else {
			strbuf_putc(sb, *p);
		}
	}
	if (safe.err && !sb->err)
		sb->err = safe.err;
}

static void put_element(struct strbuf *sb, const char *name, const char *text)
{
	strbuf_printf(sb, "<%s>", name);
	put_text(sb, text);
	strbuf_printf(sb, "</%s>\n", name);
}

static void put_number(struct strbuf *sb, const char *name, uint64_t value)
{
	strbuf_printf(sb, "<%s>%" PRIu64 "</%s>\n", name, value, name);
}

/* --- stacks --- */

/* A path in two elements, as valgrind has it. */
static void put_file(struct strbuf *sb, const char *path)
{
	const char *base = format_base(path);
	cleanup_strbuf struct strbuf dir = STRBUF_INIT;

	if (base > path + 1) {
		strbuf_append(&dir, path, (size_t)(base - path) - 1);
		put_element(sb, "dir", strbuf_str(&dir));
	}
	put_element(sb, "file", base);
	if (dir.err && !sb->err)
		sb->err = dir.err;
}

static void put_frame(struct strbuf *sb, const struct summary_frame *f)
{
	strbuf_puts(sb, "<frame>\n");
	strbuf_printf(sb, "<ip>0x%" PRIX64 "</ip>\n", f->pc);
	if (f->module)
		put_element(sb, "obj", f->module);
	if (f->function)
		put_element(sb, "fn", f->function);
	if (f->file)
		put_file(sb, f->file);
	if (f->file && f->line > 0)
		put_number(sb, "line", (uint64_t)f->line);
	strbuf_puts(sb, "</frame>\n");
}

/* With the allocator's own functions, which valgrind's stacks begin with, too. */
static void put_stack(struct strbuf *sb, const struct stack_view *stack)
{
	strbuf_puts(sb, "<stack>\n");
	for (size_t i = 0; i < stack->depth; i++)
		put_frame(sb, &stack->frames[i]);
	strbuf_puts(sb, "</stack>\n");
}

/* --- leaks --- */

struct leak {
	const char *kind, *words;
	uint64_t bytes, indirect, blocks;
};

static const char *const kinds[VERDICT_COUNT] = {
	[VERDICT_UNKNOWN] = "Leak_StillReachable", [VERDICT_REACHABLE] = "Leak_StillReachable",
	[VERDICT_POSSIBLE] = "Leak_PossiblyLost", [VERDICT_INDIRECT] = "Leak_IndirectlyLost",
	[VERDICT_DEFINITE] = "Leak_DefinitelyLost",
};

/* False: it is no leak. */
static bool leak_of(const struct summary *s, const struct summary_group *g, struct leak *out)
{
	const struct export_values its = export_values(s, g);

	*out = (struct leak){ .kind = kinds[g->verdict],
			      .words = g->verdict == VERDICT_UNKNOWN ? "still allocated" : words_verdict(g->verdict) };
	out->bytes = its.of[EXPORT_LIVE_BYTES];
	out->blocks = its.of[EXPORT_LIVE_BLOCKS];
	out->indirect = g->verdict == VERDICT_INDIRECT ? 0 : g->kind.indirect_bytes;
	if (!summary_is_sampled(&s->run))
		return g->blocks > 0;
	out->kind = "Leak_PossiblyLost";
	out->words = "estimated to stay";
	return summary_group_suspect(g) && out->bytes;
}

static size_t count_leaks(const struct summary *s)
{
	struct leak leak;
	size_t n = 0;

	for (size_t i = 0; i < s->ngroups; i++)
		n += leak_of(s, &s->groups[i], &leak);
	return n;
}

static void put_leak(struct strbuf *sb, const struct leak *leak, const struct stack_view *stack, size_t number,
		     size_t all)
{
	strbuf_printf(sb, "<error>\n<unique>0x%zx</unique>\n<tid>1</tid>\n<kind>%s</kind>\n<xwhat>\n<text>", number - 1,
		      leak->kind);
	strbuf_printf(sb, "%" PRIu64, leak->bytes + leak->indirect);
	if (leak->indirect)
		strbuf_printf(sb, " (%" PRIu64 " direct, %" PRIu64 " indirect)", leak->bytes, leak->indirect);
	strbuf_printf(sb, " bytes in %" PRIu64 " blocks are %s in loss record %zu of %zu</text>\n", leak->blocks,
		      leak->words, number, all);
	put_number(sb, "leakedbytes", leak->bytes + leak->indirect);
	put_number(sb, "leakedblocks", leak->blocks);
	strbuf_puts(sb, "</xwhat>\n");
	put_stack(sb, stack);
	strbuf_puts(sb, "</error>\n");
}

static void put_leaks(const struct summary *s, struct strbuf *sb)
{
	const size_t all = count_leaks(s);
	struct leak leak;
	size_t n = 0;

	for (size_t i = 0; i < s->ngroups; i++)
		if (leak_of(s, &s->groups[i], &leak))
			put_leak(sb, &leak, &s->groups[i].stack, ++n, all);
}

/* --- double frees --- */

static void put_other_stack(struct strbuf *sb, const char *what, const struct stack_view *stack)
{
	if (!stack->depth)
		return;
	put_element(sb, "auxwhat", what);
	put_stack(sb, stack);
}

static void put_twice(struct strbuf *sb, const struct summary_twice *t, size_t number)
{
	strbuf_printf(sb, "<error>\n<unique>0x%zx</unique>\n<tid>1</tid>\n<kind>InvalidFree</kind>\n"
			  "<what>Invalid free() / delete / delete[] / realloc()</what>\n", number);
	put_stack(sb, &t->second);
	put_other_stack(sb, "The block was free'd before", &t->first);
	put_other_stack(sb, "Block was alloc'd at", &t->alloc);
	strbuf_puts(sb, "</error>\n");
}

static void put_counts(const struct summary *s, size_t leaks, struct strbuf *sb)
{
	strbuf_puts(sb, "<errorcounts>\n");
	for (size_t i = 0; i < leaks; i++)
		strbuf_printf(sb, "<pair>\n<count>1</count>\n<unique>0x%zx</unique>\n</pair>\n", i);
	for (size_t i = 0; i < s->ntwice; i++)
		strbuf_printf(sb, "<pair>\n<count>%" PRIu64 "</count>\n<unique>0x%zx</unique>\n</pair>\n",
			      s->twice[i].count, leaks + i);
	strbuf_puts(sb, "</errorcounts>\n\n<suppcounts>\n</suppcounts>\n\n");
}

/* --- all --- */

static void put_status(struct strbuf *sb, const char *state, double seconds)
{
	const uint64_t ms = seconds > 0 && seconds < 1e15 ? (uint64_t)(seconds * 1000) : 0;

	strbuf_printf(sb, "<status>\n<state>%s</state>\n<time>%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64
			  ".%03" PRIu64 " </time>\n</status>\n\n", state, ms / 86400000, ms / 3600000 % 24,
		      ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
}

static void put_head(const struct summary *s, struct strbuf *sb)
{
	strbuf_puts(sb, "<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n<protocolversion>4</protocolversion>\n"
			"<protocoltool>memcheck</protocoltool>\n\n<preamble>\n<line>mmattach " MM_VERSION
			"</line>\n</preamble>\n\n");
	strbuf_printf(sb, "<pid>%d</pid>\n<ppid>0</ppid>\n<tool>memcheck</tool>\n\n<args>\n<vargv>\n"
			  "<exe>mmattach</exe>\n</vargv>\n<argv>\n", (int)s->target.pid);
	put_element(sb, "exe", s->target.exe ? s->target.exe : s->target.comm ? s->target.comm : "");
	for (size_t i = 1; i < s->target.nargs; i++)
		put_element(sb, "arg", s->target.cmdline[i]);
	strbuf_puts(sb, "</argv>\n</args>\n\n");
}

int out_valgrind(const struct summary *s, size_t top, struct strbuf *sb)
{
	const size_t leaks = count_leaks(s);

	(void)top;
	if (summary_error(s))
		return summary_error(s);
	put_head(s, sb);
	put_status(sb, "RUNNING", 0);
	put_leaks(s, sb);
	for (size_t i = 0; i < s->ntwice; i++)
		put_twice(sb, &s->twice[i], leaks + i);
	put_status(sb, "FINISHED", s->run.seconds);
	put_counts(s, leaks, sb);
	strbuf_puts(sb, "</valgrindoutput>\n");
	return strbuf_error(sb);
}

const struct report_format report_format_valgrind = {
	.name = "valgrind", .what = "XML as memcheck writes it, for IDEs and CI",
	.watch = out_valgrind,
	.why_not = "it is a list of the leaks of one watch",
};
