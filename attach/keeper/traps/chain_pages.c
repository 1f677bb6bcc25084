/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/chain_pages.h"

#include <string.h>
#include <sys/uio.h>

#define NO_PAGE 1u

static taddr page_of(taddr addr)
{
	return addr & ~(taddr)(CHAIN_PAGE - 1);
}

/* Read the pages @pages[0..n), in place of the oldest. */
static void fetch(struct chain_pages *p, const taddr *pages, uint32_t n)
{
	struct iovec here[CHAIN_AT_ONCE] = { 0 }, there[CHAIN_AT_ONCE] = { 0 };
	uint32_t place[CHAIN_AT_ONCE] = { 0 };
	size_t got;

	p->fetches++;
	for (uint32_t i = 0; i < n; i++) {
		place[i] = p->next++ % CHAIN_PAGES;
		here[i] = (struct iovec){ p->bytes[place[i]], CHAIN_PAGE };
		there[i] = (struct iovec){ (void *)(uintptr_t)pages[i], CHAIN_PAGE };
		p->addr[place[i]] = NO_PAGE;
	}
	got = remote_loads_pages(p->from, here, there, n);
	for (uint32_t i = 0; i < n && got >= (i + 1) * CHAIN_PAGE; i++)
		p->addr[place[i]] = pages[i];
}

void chain_pages_begin(struct chain_pages *p, struct remote_loads_from from, const taddr addrs[CHAIN_AT_ONCE])
{
	taddr pages[CHAIN_AT_ONCE];
	uint32_t n = 0;

	p->from = from;
	p->fetches = p->next = 0;
	for (uint32_t i = 0; i < CHAIN_PAGES; i++)
		p->addr[i] = NO_PAGE;
	for (uint32_t i = 0; i < CHAIN_AT_ONCE; i++) {
		bool taken = !addrs[i];

		for (uint32_t k = 0; k < n; k++)
			taken |= pages[k] == page_of(addrs[i]);
		if (!taken)
			pages[n++] = page_of(addrs[i]);
	}
	if (n)
		fetch(p, pages, n);
}

static const uint8_t *look_up(const struct chain_pages *p, taddr page)
{
	for (uint32_t i = 0; i < CHAIN_PAGES; i++)
		if (p->addr[i] == page)
			return p->bytes[i];
	return NULL;
}

static const uint8_t *find(struct chain_pages *p, taddr page)
{
	const uint8_t *bytes = look_up(p, page);

	if (bytes)
		return bytes;
	fetch(p, &page, 1);
	return look_up(p, page);
}

bool chain_pages_read(struct chain_pages *p, taddr addr, void *buf, uint32_t n)
{
	uint8_t *to = buf;

	while (n) {
		const uint32_t from = (uint32_t)(addr % CHAIN_PAGE);
		const uint32_t part = n < CHAIN_PAGE - from ? n : CHAIN_PAGE - from;
		const uint8_t *bytes = find(p, page_of(addr));

		if (!bytes)
			return false;
		memcpy(to, bytes + from, part);
		to += part;
		addr += part;
		n -= part;
	}
	return true;
}
