/* SPDX-License-Identifier: MIT */
/* numbering: see numbering.h. */
#include "report/export/numbering.h"

#include <errno.h>

void numbering_init(struct numbering *n)
{
	*n = (struct numbering){ 0 };
	intern_init(&n->texts);
	addrmap_init(&n->numbers, sizeof(uint32_t));
}

void numbering_fini(struct numbering *n)
{
	intern_fini(&n->texts);
	addrmap_fini(&n->numbers);
}

uint32_t numbering_of(struct numbering *n, const char *text, bool *fresh)
{
	const uint32_t next = numbering_count(n);
	const char *kept = intern_text(&n->texts, text ? text : "");
	bool is_new = false;
	uint32_t *number = kept ? addrmap_slot(&n->numbers, (uintptr_t)kept, &is_new) : NULL;

	if (fresh)
		*fresh = is_new;
	if (!number) {
		n->err = -ENOMEM;
		return 0;
	}
	if (is_new)
		*number = next;
	return *number;
}

uint32_t numbering_take(struct numbering *n, struct strbuf *sb, bool *fresh)
{
	const uint32_t number = numbering_of(n, strbuf_str(sb), fresh);

	if (sb->err)
		n->err = sb->err;
	strbuf_reset(sb);
	return number;
}
