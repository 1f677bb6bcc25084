/* SPDX-License-Identifier: MIT */
#include "attach/keeper/shared/refused_returns.h"

static uint32_t slot_of(taddr addr, uint32_t way)
{
	return ((uint32_t)((addr * 0x9e3779b97f4a7c15ull) >> 40) + way) % REFUSED_RETURNS;
}

bool refused_returns_has(const struct refused_returns *r, taddr addr)
{
	for (uint32_t way = 0; way < REFUSED_RETURNS_WAYS; way++) {
		const taddr at = atomic_load_explicit(&r->at[slot_of(addr, way)], memory_order_relaxed);

		if (at == addr)
			return true;
		if (!at)
			return false;
	}
	return false;
}

void refused_returns_add(struct refused_returns *r, taddr addr)
{
	uint32_t way = 0;

	/* a free slot looks like that */
	if (!addr || refused_returns_has(r, addr))
		return;
	while (way < REFUSED_RETURNS_WAYS && atomic_load(&r->at[slot_of(addr, way)]))
		way++;
	r->any = true;
	atomic_store(&r->at[slot_of(addr, way % REFUSED_RETURNS_WAYS)], addr);
}

void refused_returns_forget(struct refused_returns *r)
{
	if (!r->any)
		return;
	for (uint32_t i = 0; i < REFUSED_RETURNS; i++)
		atomic_store_explicit(&r->at[i], 0, memory_order_relaxed);
	r->any = false;
}
