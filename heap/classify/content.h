/* SPDX-License-Identifier: MIT */
/*
 * content: what seems to be in a block without a class and a stack: text, pointers, numbers, nothing.
 *
 * Only its first bytes are examined (CONTENT_LOOK), and the result is a hint, which the text shows. Texts
 * come from the target: they are quoted, and nothing in them can move a terminal's cursor.
 */
#ifndef MM_CONTENT_H
#define MM_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/taddr.h"
#include "heap/block.h"
#include "heap/snapshot/snapshot.h"

#define CONTENT_LOOK 256u
#define CONTENT_SAMPLE 48u

enum content_kind {
	CONTENT_UNKNOWN,	/* not in the snapshot, or nothing recognised */
	CONTENT_ZEROS,
	CONTENT_TEXT,
	CONTENT_STRING,		/* a std::string, or what begins with one */
	CONTENT_POINTERS,	/* half of the words that are not 0, or more */
	CONTENT_NUMBERS,	/* small ones */
	CONTENT_KINDS
};

struct content {
	enum content_kind kind;
	unsigned words, zeros, numbers;	/* of 8 bytes: examined; 0; between -65,536 and 65,536, but not 0 */
	/* pointers: to allocated blocks, to mappings of files, to stacks */
	unsigned to_blocks, to_files, to_stacks;
	taddr function;				/* the first word points to code here; 0: it does not */
	char sample[CONTENT_SAMPLE + 1];	/* of the text, raw; "" */
	bool more;				/* the text is longer */
	unsigned sample_at;			/* offset in the block; 0 if it is a CONTENT_STRING's text */
};

/* What is in the @size bytes at @addr. @blocks: all allocated ones, sorted; may be empty. */
void content_look(const struct snapshot *s, const struct block *blocks, size_t nblocks, taddr addr,
		  uint64_t size, struct content *out);

/*
 * Describe @n blocks of one kind in a few words: `text: "GET /", "POST /"`, `pointers: 5 of 8 words, 4 to
 * blocks`. Appends nothing if nothing is known.
 */
void content_describe(const struct content *all, size_t n, struct strbuf *out);

#endif
