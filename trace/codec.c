/* SPDX-License-Identifier: MIT */
#include "trace/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "trace/format.h"

#define LEVEL 3

struct packer {
	ZSTD_CCtx *zstd;
	size_t size;
	uint8_t out[];
};

struct unpacker {
	ZSTD_DCtx *zstd;
	uint8_t out[MMT_BLOCK_MAX];
};

int packer_new(struct packer **out)
{
	size_t size = ZSTD_compressBound(MMT_BLOCK_MAX);
	struct packer *p = malloc(sizeof(*p) + size);

	if (!p)
		return -ENOMEM;
	*p = (struct packer){ ZSTD_createCCtx(), size };
	if (!p->zstd) {
		free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

void packer_free(struct packer *p)
{
	if (p)
		ZSTD_freeCCtx(p->zstd);
	free(p);
}

uint32_t packer_pack(struct packer *p, const void *payload, size_t n, const void **out, size_t *stored)
{
	size_t packed = ZSTD_compressCCtx(p->zstd, p->out, p->size, payload, n, LEVEL);

	if (ZSTD_isError(packed) || packed >= n) {
		*out = payload;
		*stored = n;
		return MMT_CODEC_STORED;
	}
	*out = p->out;
	*stored = packed;
	return MMT_CODEC_ZSTD;
}

int unpacker_new(struct unpacker **out)
{
	struct unpacker *u = malloc(sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->zstd = ZSTD_createDCtx();
	if (!u->zstd) {
		free(u);
		return -ENOMEM;
	}
	*out = u;
	return 0;
}

void unpacker_free(struct unpacker *u)
{
	if (u)
		ZSTD_freeDCtx(u->zstd);
	free(u);
}

int unpacker_unpack(struct unpacker *u, uint32_t codec, const void *stored, size_t n, size_t length,
		    const void **out)
{
	size_t got;

	if (codec == MMT_CODEC_STORED) {
		*out = stored;
		return n == length ? 0 : -EPROTO;
	}
	if (codec != MMT_CODEC_ZSTD)
		return -ENOTSUP;
	got = ZSTD_decompressDCtx(u->zstd, u->out, sizeof(u->out), stored, n);
	if (ZSTD_isError(got) || got != length)
		return -EPROTO;
	*out = u->out;
	return 0;
}
