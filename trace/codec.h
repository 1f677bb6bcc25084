/* SPDX-License-Identifier: MIT */
/*
 * codec: payloads of blocks packed and unpacked.
 *
 * What is unpacked comes from a file that may be damaged or made to do harm: the result has exactly as many
 * bytes as the block's head says, and never more than MMT_BLOCK_MAX; otherwise it is an error.
 */
#ifndef MM_CODEC_H
#define MM_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct packer;
struct unpacker;

must_check int packer_new(struct packer **out);		/* 0 or -ENOMEM */
void packer_free(struct packer *p);			/* NULL is allowed */

/*
 * The @n bytes at @payload as they are to be stored: *@stored bytes at *@out, which is @payload itself, or a
 * buffer of the packer, valid until the next call. Returns the codec: MMT_CODEC_STORED if packing would not
 * make it smaller.
 */
uint32_t packer_pack(struct packer *p, const void *payload, size_t n, const void **out, size_t *stored);

must_check int unpacker_new(struct unpacker **out);
void unpacker_free(struct unpacker *u);

/*
 * 0: *@out has @length bytes, valid until the next call and as long as @stored; -EPROTO: the stored bytes are
 * not valid; -ENOTSUP: the codec is not known here.
 */
must_check int unpacker_unpack(struct unpacker *u, uint32_t codec, const void *stored, size_t n,
			       size_t length, const void **out);

#endif
