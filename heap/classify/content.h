/* SPDX-License-Identifier: MIT */
/*
 * content: what seems to be in a block that no class and no stack explains: text, pointers, numbers, nothing.
 *
 * Only its first bytes are looked at (CONTENT_LOOK), and what comes out is a hint, worded as one. Texts are the target's: they are
 * quoted, and nothing in them can move a terminal's cursor.
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
	CONTENT_UNKNOWN,	/* not in the snapshot, or like nothing */
	CONTENT_ZEROS,
	CONTENT_TEXT,
	CONTENT_STRING,		/* a std::string, or what begins with one */
	CONTENT_POINTERS,	/* half of the words that are not 0, or more */
	CONTENT_NUMBERS,	/* small ones */
	CONTENT_KINDS
};

struct content {
	enum content_kind kind;
	unsigned words, zeros, numbers;		/* of 8 bytes: looked at; 0; below 65,536, or so little below 0 */
	unsigned to_blocks, to_files, to_stacks;	/* pointers: to blocks that were given out, to files' mappings, to stacks */
	taddr function;				/* the first word points to code here; 0: it does not */
	char sample[CONTENT_SAMPLE + 1];	/* of the text, raw; "" */
	bool more;				/* the text is longer */
	unsigned sample_at;			/* where in the block; of a CONTENT_STRING it is where that is kept, and this 0 */
};

/* What is in the @size bytes at @addr. @blocks: all that are in use, sorted; may be none. */
void content_look(const struct snapshot *s, const struct block *blocks, size_t nblocks, taddr addr, uint64_t size, struct content *out);

/*
 * @n blocks of one kind in a few words: `text: "GET /", "POST /"`, `pointers: 5 of 8 words, 4 to other blocks`. Nothing is appended
 * where nothing can be said.
 */
void content_describe(const struct content *all, size_t n, struct strbuf *out);

#endif
