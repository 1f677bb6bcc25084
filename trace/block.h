/* SPDX-License-Identifier: MIT */
/*
 * block: the heads of files and blocks, as bytes. Pure.
 *
 * A block is whole if its head's checksum is right, and then its payload's. Nothing else of it is used
 * before.
 */
#ifndef MM_BLOCK_H
#define MM_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

struct block_head {
	uint32_t number;	/* 0, 1, ... in each file */
	uint32_t length;	/* of the payload */
	uint32_t stored;	/* how many bytes of it follow the head */
	uint32_t codec;		/* MMT_CODEC_... */
	uint32_t tag;		/* of the run */
	uint32_t crc;		/* of the payload as stored */
};

/* What is found at some place of a file. */
enum block_state {
	BLOCK_WHOLE,
	BLOCK_NONE,		/* no head, or a damaged one */
	BLOCK_CUT,		/* there are not enough bytes */
	BLOCK_DAMAGED,		/* the head is right, the payload is not */
};

void file_head_pack(uint8_t out[MMT_FILE_HEAD]);

/* false: there is none in these @n bytes, or a damaged one. */
bool file_head_parse(const uint8_t *p, size_t n, uint16_t *major, uint16_t *minor);

void block_head_pack(const struct block_head *h, uint8_t out[MMT_BLOCK_HEAD]);

/* Look at @n bytes. @h is the head if there is a valid one, also of a block that is cut; else all 0. */
enum block_state block_look(const uint8_t *p, size_t n, struct block_head *h);

#endif
