/* SPDX-License-Identifier: MIT */
/* content_words: what was seen in blocks, in a few words. */
#include <string.h>

#include "heap/classify/content.h"

#define SAMPLES 3

/* The sample between quotes, safe for a terminal: quotes and backslashes in it are escaped. */
static void quote(const struct content *c, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;

	for (const char *p = c->sample; *p; p++) {
		if (*p == '"' || *p == '\\')
			strbuf_putc(&text, '\\');
		if (*p == '\n' || *p == '\r' || *p == '\t')
			strbuf_puts(&text, *p == '\n' ? "\\n" : *p == '\r' ? "\\r" : "\\t");
		else
			strbuf_putc(&text, *p);
	}
	strbuf_putc(out, '"');
	strbuf_text(out, strbuf_str(&text));
	strbuf_puts(out, c->more ? "…\"" : "\"");
	strbuf_fini(&text);
}

/* The first few samples of this kind that differ. */
static void put_samples(const struct content *all, size_t n, enum content_kind kind, struct strbuf *out)
{
	const struct content *shown[SAMPLES];
	size_t nshown = 0;

	for (size_t i = 0; i < n && nshown < SAMPLES; i++) {
		bool known = all[i].kind != kind || !all[i].sample[0];

		for (size_t k = 0; k < nshown && !known; k++)
			known = !strcmp(all[i].sample, shown[k]->sample);
		if (known)
			continue;
		strbuf_puts(out, nshown ? ", " : ": ");
		quote(&all[i], out);
		shown[nshown++] = &all[i];
	}
}

static const struct content *first_of(const struct content *all, size_t n, enum content_kind kind)
{
	size_t i = 0;

	while (i + 1 < n && all[i].kind != kind)
		i++;
	return &all[i];
}

/* "5 of 8 words, 4 to blocks, 1 to code or data of files": as the first of these blocks has it. */
static void put_pointers(const struct content *c, struct strbuf *out)
{
	unsigned all = c->to_blocks + c->to_files + c->to_stacks;

	strbuf_printf(out, ": %u of %u words", all, c->words);
	if (c->to_blocks)
		strbuf_printf(out, ", %u to blocks", c->to_blocks);
	if (c->to_files)
		strbuf_printf(out, ", %u to code or data of files", c->to_files);
	if (c->to_stacks)
		strbuf_printf(out, ", %u to stacks", c->to_stacks);
}

static void put_kind(const struct content *all, size_t n, enum content_kind kind, struct strbuf *out)
{
	static const char *const words[CONTENT_KINDS] = {
		[CONTENT_ZEROS] = "zeros", [CONTENT_TEXT] = "text", [CONTENT_STRING] = "std::string",
		[CONTENT_POINTERS] = "pointers", [CONTENT_NUMBERS] = "small numbers",
	};
	const struct content *first = first_of(all, n, kind);

	strbuf_puts(out, words[kind]);
	if (kind == CONTENT_TEXT || kind == CONTENT_STRING)
		put_samples(all, n, kind, out);
	else if (kind == CONTENT_POINTERS)
		put_pointers(first, out);
	if (first->function && kind != CONTENT_TEXT)
		strbuf_puts(out, ", the first to code");
}

/* Describes the kind of at least half of the blocks; appends nothing if there is none. */
void content_describe(const struct content *all, size_t n, struct strbuf *out)
{
	size_t counts[CONTENT_KINDS] = { 0 };
	enum content_kind most = CONTENT_UNKNOWN;

	for (size_t i = 0; i < n; i++)
		counts[all[i].kind]++;
	for (unsigned k = CONTENT_UNKNOWN + 1; k < CONTENT_KINDS; k++) {
		if (counts[k] > counts[most] || (counts[k] && most == CONTENT_UNKNOWN && counts[k] * 2 >= n))
			most = k;
	}
	if (most == CONTENT_UNKNOWN || counts[most] * 2 < n)
		return;
	if (counts[most] < n)
		strbuf_puts(out, "mostly ");
	put_kind(all, n, most, out);
}
