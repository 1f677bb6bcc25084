/* SPDX-License-Identifier: MIT */
#include "attach/sampling/heaps/owner_words.h"

#include <string.h>

void owner_words_born(const struct block_hit *hit, uint64_t bytes, struct chunkstate *out)
{
	if (!hit->has_words)
		return;
	chunkstate_keep(&(struct chunkstate_look){ .block = hit->addr, .nwords = (uint8_t)owner_words_of(bytes),
						   .words = { hit->words[0], hit->words[1] } },
			out);
	out->link = out->blank = true;
}

bool owner_words_still(pid_t pid, taddr at, const uint64_t words[OWNER_WORDS], uint32_t n)
{
	uint64_t now[OWNER_WORDS];

	return remote_read_words(pid, at, now, 8 * n) && !memcmp(now, words, 8 * n);
}

void owner_words_look(struct block_look *l, const uint64_t words[OWNER_WORDS], uint32_t n)
{
	const struct chunkstate *before = &l->b->state;
	unsigned changed;

	chunkstate_keep(&(struct chunkstate_look){ .block = l->addr, .nwords = (uint8_t)n,
						   .words = { words[0], words[1] } },
			&l->now);
	changed = chunkstate_changed(before, &l->now);
	l->now.link = before->link && !(changed & 1);
	l->now.blank = before->blank && !changed;
}
