/* SPDX-License-Identifier: MIT */
/*
 * answer: what a helper process reports about addresses, as bytes in a pipe. The reader does not trust them:
 * a hostile file may have taken over the helper.
 *
 *	record: head (kind, index, count, size), then size bytes:
 *		ANSWER_FRAMES	count frames for address number index: head (line, lengths), function, linkage
 *				name, file
 *		ANSWER_NOTE	a text: what went wrong
 *		ANSWER_ALIVE	nothing: the helper is still working
 *		ANSWER_DONE	nothing: all answers have been sent
 *
 * Strings include their NUL; length 0 means no string.
 */
#ifndef MM_ANSWER_H
#define MM_ANSWER_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "symbolize/names.h"

#define ANSWER_BYTES_MAX (1u << 20)	/* of one record, without its head */
#define ANSWER_FRAMES_MAX NAMES_FRAMES_MAX

enum answer_kind { ANSWER_FRAMES, ANSWER_NOTE, ANSWER_ALIVE, ANSWER_DONE, ANSWER_KINDS };

struct answer_head {
	uint32_t kind, count;
	uint64_t index;
	uint32_t size, unused;
};

/* A record that was read. All pointers lead into the bytes it was read from, or to @frames. */
struct answer {
	enum answer_kind kind;
	size_t index;
	const struct names_frame *frames;
	size_t n;
	const char *note;
};

/* Append a record. Inlined frames that do not fit are left out. */
void answer_put_frames(struct strbuf *sb, size_t index, const struct names_frame *frames, size_t n);
void answer_put_note(struct strbuf *sb, const char *text);
void answer_put(struct strbuf *sb, enum answer_kind kind);

/*
 * Read the record at @data. @frames has room for ANSWER_FRAMES_MAX. Returns the number of bytes of the
 * record; 0: it is incomplete; -EINVAL: it is not a valid record.
 */
must_check ssize_t answer_read(const char *data, size_t n, struct names_frame *frames, struct answer *out);

#endif
