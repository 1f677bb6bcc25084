/* SPDX-License-Identifier: MIT */
#include "attach/loss/loss_content.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attach/target/modules.h"
#include "heap/classify/classify.h"
#include "heap/classify/content.h"
#include "heap/snapshot/backing.h"

#define SAMPLES 8u	/* of each size */

/* Some of the blocks of one size. */
struct sample {
	struct block blocks[SAMPLES];
	uint32_t classes[SAMPLES];
	size_t n;
};

static size_t first_of(const struct loss *lost, uint64_t size)
{
	size_t i = 0;

	while (i < lost->n && lost->lost[i].size != size)
		i++;
	return i;
}

/* Evenly from all of them: they are in no particular order. */
static void choose(const struct loss *lost, const struct loss_size *of, struct sample *out)
{
	const size_t first = first_of(lost, of->size), there = lost->n - first,
		     n = there < of->blocks ? there : of->blocks;

	out->n = n < SAMPLES ? n : SAMPLES;
	for (size_t i = 0; i < out->n; i++)
		out->blocks[i] = lost->lost[first + i * n / out->n];
}

static int classify_all(struct classify *c, struct sample *all, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; r == 0 && j < all[i].n; j++)
			r = classify_block(c, all[i].blocks[j].addr, all[i].blocks[j].size, &all[i].classes[j]);
	/* without a separate process names stay as the compiler writes them */
	if (r == 0 && classify_names(c) == -ENOMEM)
		r = -ENOMEM;
	return r;
}

/* The class of most of them, or NULL. */
static const char *class_of(const struct classify *c, const struct sample *of)
{
	for (size_t i = 0; i < of->n; i++) {
		size_t alike = 0;

		for (size_t j = 0; j < of->n; j++)
			alike += of->classes[j] == of->classes[i];
		if (of->classes[i] != CLASS_NONE && 2 * alike > of->n)
			return classify_name(c, of->classes[i]);
	}
	return NULL;
}

static void describe(struct strbuf *sb, const struct classify *c, const struct snapshot *copy, const struct sample *of)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct content contents[SAMPLES];
	const char *class = class_of(c, of);

	if (class) {
		strbuf_puts(sb, " (C++ class ");
		strbuf_text(sb, class);
		strbuf_putc(sb, ')');
		return;
	}
	for (size_t i = 0; i < of->n; i++)
		content_look(copy, NULL, 0, of->blocks[i].addr, of->blocks[i].size, &contents[i]);
	content_describe(contents, of->n, &text);
	if (text.len)
		strbuf_printf(sb, " (%s)", strbuf_str(&text));
}

static void put_size(struct strbuf *sb, const struct loss_size *its, bool first)
{
	strbuf_printf(sb, "%s%" PRIu64 " of %" PRIu64 "%s", first ? "" : ", ", its->blocks, its->size,
		      first ? " bytes" : "");
}

/* @copy and @c: NULL if there is none. */
static int put_all(struct strbuf *sb, const struct loss *lost, const struct loss_sum *sum, const struct snapshot *copy,
		   struct classify *c)
{
	struct sample all[LOSS_SIZES_LISTED] = { 0 };
	size_t n = 0;
	int r;

	for (; n < LOSS_SIZES_LISTED && sum->sizes[n].blocks; n++)
		choose(lost, &sum->sizes[n], &all[n]);
	r = copy ? classify_all(c, all, n) : 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		put_size(sb, &sum->sizes[i], !i);
		if (copy)
			describe(sb, c, copy, &all[i]);
	}
	return r;
}

int loss_content_put(struct strbuf *sb, const struct loss *lost, const struct loss_sum *sum, struct snapshot *copy,
		     struct modules *modules)
{
	struct classify *c = NULL;
	struct backing backing;
	int r;

	if (!copy)
		return put_all(sb, lost, sum, NULL, NULL);
	r = backing_add(copy, modules_open_file, modules, &backing);
	if (r == 0)
		r = classify_new(copy, &backing, &c);
	if (r == 0)
		r = put_all(sb, lost, sum, copy, c);
	classify_free(c);
	backing_fini(&backing);
	return r;
}
