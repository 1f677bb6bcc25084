/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/rblines.h"

#include "attach/stacks/scripts/script_language.h"

#define LINE_BYTES 12u
#define FIRST_POSITIONS 54u
#define IN_A_WORD 9u		/* of the first positions, */
#define RANK_BITS 7u		/* of so many bits each */
#define FIRST_BYTES (FIRST_POSITIONS / IN_A_WORD * 8)
#define BLOCK_POSITIONS 512u
#define WORD_RANK_BITS 9u

struct block {
	uint32_t rank, unused;		/* of all before it */
	uint64_t word_ranks;		/* of all before each of its words but the first */
	uint64_t bits[BLOCK_POSITIONS / 64];
};

static uint32_t rank_in(const struct block *b, uint32_t position)
{
	const uint32_t word = position / 64;
	uint32_t rank = b->rank + (uint32_t)__builtin_popcountll(b->bits[word] << (63 - position % 64));

	if (word)
		rank += b->word_ranks >> (word - 1) * WORD_RANK_BITS & ((1u << WORD_RANK_BITS) - 1);
	return rank;
}

/* How many lines begin up to @position. 0: it cannot be read. */
static uint32_t rank_at(int mem, taddr index, uint32_t position)
{
	struct block block;
	uint64_t word;

	if (position < FIRST_POSITIONS) {
		if (!script_read_word(mem, index + position / IN_A_WORD * 8, &word))
			return 0;
		return word >> position % IN_A_WORD * RANK_BITS & ((1u << RANK_BITS) - 1);
	}
	position -= FIRST_POSITIONS;
	index += FIRST_BYTES + position / BLOCK_POSITIONS * sizeof(block);
	if (!script_read(mem, index, &block, sizeof(block)))
		return 0;
	return rank_in(&block, position % BLOCK_POSITIONS);
}

uint32_t rb_lines_at(int mem, const struct rb_lines *l, uint32_t position)
{
	const uint32_t rank = l->n > 1 ? rank_at(mem, l->index, position) : l->n;
	uint32_t line;

	if (!rank || rank > l->n ||
	    !script_read(mem, l->lines + (rank - 1ull) * LINE_BYTES, &line, sizeof(line)))
		return 0;
	return line;
}
