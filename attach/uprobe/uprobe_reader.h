/* SPDX-License-Identifier: MIT */
/*
 * uprobe_reader: the reader's end of a BPF ring buffer, as the kernel documents it: a page with our position, a page
 * with the producers', and the data, mapped twice in a row so that no record is cut.
 *
 * A record that is being written is seen as busy: the reader waits for it, since those behind it come later.
 */
#ifndef MM_UPROBE_READER_H
#define MM_UPROBE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct uprobe_reader {
	uint64_t *consumer;		/* ours */
	const uint64_t *producer;
	const uint8_t *data;
	size_t size;			/* a power of two */
};

/* @fd: of a ring of @size bytes. 0 or -errno. */
must_check int uprobe_reader_init(struct uprobe_reader *r, int fd, size_t size);
void uprobe_reader_fini(struct uprobe_reader *r);

/* The oldest record and its length, or NULL. Discarded ones are skipped. */
const void *uprobe_reader_peek(struct uprobe_reader *r, size_t *n);
void uprobe_reader_consume(struct uprobe_reader *r, size_t n);

uint64_t uprobe_reader_read(const struct uprobe_reader *r);	/* our position */
uint64_t uprobe_reader_written(const struct uprobe_reader *r);	/* the producers' */

#endif
