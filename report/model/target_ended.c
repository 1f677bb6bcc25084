/* SPDX-License-Identifier: MIT */
#include "report/model/target_ended.h"

#include "trace/endnote.h"

bool target_ended(const struct summary *s)
{
	for (size_t i = 0; i < s->nnotes; i++)
		if (endnote_is(s->notes[i]))
			return true;
	return false;
}
