/* SPDX-License-Identifier: MIT */
#include "heap/glibc/tcachekey.h"

#include <stddef.h>

#define ENOUGH 8u
/* of a program's addresses: a word with no bits above them is no random key, except for one key in 131,072 */
#define ADDRESS_BITS 47

static bool may_be(uint64_t word)
{
	return word >> ADDRESS_BITS && word >> ADDRESS_BITS != UINT64_MAX >> ADDRESS_BITS;
}

static void vote(struct tcachekey *k, uint64_t word, uint32_t stack)
{
	if (word != k->candidate) {
		if (k->votes && --k->votes)
			return;
		k->candidate = word;
		k->stack = stack;
		k->several = false;
	}
	k->several = k->several || stack != k->stack;
	if (k->votes < ENOUGH)
		k->votes++;
	if (k->votes == ENOUGH && k->several)
		k->value = word;
}

void tcachekey_see(struct tcachekey *k, const struct chunkstate_look *l, bool linked, uint32_t stack)
{
	taddr to;

	if (k->given || k->never || l->nwords < 2 || !may_be(l->words[1]))
		return;
	if ((l->words[1] == k->value || l->words[1] == k->candidate) && !chunkstate_link(l, &to)) {
		k->never = k->value == l->words[1];
		k->value = 0;
		k->candidate = 0;
		k->votes = 0;
	} else if (linked && !k->value) {
		vote(k, l->words[1], stack);
	}
}

bool tcachekey_is(const struct tcachekey *k, const struct chunkstate_look *l)
{
	return k->value && l->nwords >= 2 && l->words[1] == k->value;
}
