/* SPDX-License-Identifier: MIT */
#include "attach/loss/loss_later.h"

#include <errno.h>
#include <string.h>

#define MARKS_MOST 1000000u	/* then no more blocks are kept */
#define SMALL 65536u
#define HIGH_LEAST 0x1000u	/* upper half of a pointer: heaps and mappings of a process */
#define HIGH_MOST 0x7fffu

/* FNV-1a, by words */
#define HASH_FIRST 0xcbf29ce484222325ull
#define HASH_TIMES 0x100000001b3ull

/* What tells blocks apart in a word: a pointer, a text, or a half of it that is no small number. */
static uint64_t telling(uint64_t word, taddr addr, uint64_t size)
{
	const uint64_t high = word >> 32, low = word & UINT32_MAX;

	if (word - addr < size)
		return 0;
	if (high >= HIGH_LEAST && high <= HIGH_MOST)
		return word;
	return (high < SMALL ? 0 : high << 32) | (low < SMALL ? 0 : low);
}

uint64_t loss_mark(taddr addr, uint64_t size, const void *bytes, size_t n)
{
	uint64_t hash = HASH_FIRST, word;
	bool any = false;

	n = n < LOSS_MARK_BYTES ? n : LOSS_MARK_BYTES;
	for (size_t i = 0; i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, (const char *)bytes + i, sizeof(word));
		word = telling(word, addr, size);
		any |= word != 0;
		hash ^= word;
		hash *= HASH_TIMES;
		hash ^= hash >> 32;
	}
	return any ? hash | 1 : 0;
}

void loss_later_init(struct loss_later *l)
{
	addrmap_init(&l->blocks, sizeof(struct loss_later_block));
	addrmap_init(&l->marks, sizeof(uint64_t));
}

void loss_later_fini(struct loss_later *l)
{
	addrmap_fini(&l->blocks);
	addrmap_fini(&l->marks);
}

int loss_later_mark(struct loss_later *l, uint64_t mark)
{
	uint64_t *times;

	if (!mark || (addrmap_count(&l->marks) >= MARKS_MOST && !addrmap_get(&l->marks, mark)))
		return 0;
	times = addrmap_slot(&l->marks, mark, NULL);
	if (!times)
		return -ENOMEM;
	++*times;
	return 0;
}

int loss_later_keep(struct loss_later *l, taddr addr, const struct loss_later_block *its)
{
	const uint64_t *times = addrmap_get(&l->marks, its->mark);

	return times && *times == 1 ? addrmap_put(&l->blocks, addr, its) : 0;
}

bool loss_later_take(struct loss_later *l, taddr addr, uint64_t mark, struct loss_later_block *out)
{
	const struct loss_later_block *its = addrmap_get(&l->blocks, addr);
	const uint64_t *times = its ? addrmap_get(&l->marks, its->mark) : NULL;

	/* another block has had the same content since */
	if (!its || its->mark != mark || !times || *times != 1)
		return false;
	return addrmap_del(&l->blocks, addr, out);
}

bool loss_later_gone(struct loss_later *l, taddr addr, struct loss_later_block *out)
{
	return addrmap_del(&l->blocks, addr, out);
}

int loss_later_look(struct loss_later *l, const struct addrmap *marks,
		    void (*gone)(void *ctx, const struct loss_later_block *its), void *ctx)
{
	struct addrmap left;
	uint64_t addr;
	void *value;
	int r = 0;

	addrmap_init(&left, sizeof(struct loss_later_block));
	for (size_t at = 0; r == 0 && addrmap_next(&l->blocks, &at, &addr, &value);) {
		const struct loss_later_block *its = value;
		const uint64_t *mark = addrmap_get(marks, addr);

		if (mark && *mark == its->mark)
			r = addrmap_put(&left, addr, its);
		else
			gone(ctx, its);
	}
	addrmap_fini(&l->blocks);
	l->blocks = left;
	return r;
}
