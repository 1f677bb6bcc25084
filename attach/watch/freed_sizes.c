/* SPDX-License-Identifier: MIT */
#include "attach/watch/freed_sizes.h"

#include "attach/control/link.h"
#include "attach/sampling/sampling_heaps.h"
#include "attach/target/linker.h"
#include "attach/target/modules.h"

#define SMALL 14336u	/* the largest block that jemalloc has in slabs; the pages of others go with the block */

void freed_sizes_open(struct freed_sizes *f, pid_t pid, const struct modules *ms, const struct link *link)
{
	const struct module *m = linker_binds(ms, "malloc");

	f->heap = sampling_heaps_of_malloc(pid, ms);
	f->module = m ? m->lo : 0;
	f->link = link;
}

void freed_sizes_close(struct freed_sizes *f)
{
	block_heap_free(f->heap);
	f->heap = NULL;
}

uint64_t freed_sizes_of(void *ctx, const struct module *m, taddr addr)
{
	const struct freed_sizes *f = ctx;
	const struct block_hit hit = { .addr = addr };
	struct block_birth b;

	if (!f->heap || !m || m->lo != f->module || link_is_crowded(f->link) || !f->heap->born(f->heap, &hit, &b))
		return 0;
	return b.addr == addr && b.usable <= SMALL ? b.usable : 0;
}
