/* SPDX-License-Identifier: MIT */
/*
 * ledger_older: events of blocks that the ledger does not know. They count as older than the watch. But this
 * ledger may be that of a later piece, and the block may have been allocated in an earlier one: then the
 * event is kept as an orphan, in its order, so that both pieces together give the right result. An allocation
 * is also an event of an older block: if one was at its address, it is gone.
 *
 * Once an orphan has ended the block at an address, no older one is there, and later events at this address
 * are no orphans. So there are at most as many orphans as addresses and unfinished reallocs, however many
 * events there are.
 *
 * An event of an object that may be older is kept and not booked: whether it ends the object depends on what
 * was before. So there are as many orphans of objects as such events, until an object is born at the address
 * or an event says that no reference is left.
 */
#include <errno.h>

#include "base/grow.h"
#include "report/ledger/ledger_parts.h"

static int add_orphan(struct ledger *l, const struct orphan *o)
{
	struct orphan *slot = grow_by_one(&l->orphans, l->norphans, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	*slot = *o;
	slot->family = l->family;
	slot->time_us = l->now_us;
	l->norphans++;
	return 0;
}

static bool keeps_orphans(const struct ledger *l)
{
	return l->keep_orphans && l->run.piece > 1;
}

bool ledger_may_be_older(const struct ledger *l, uint32_t family, taddr addr)
{
	return keeps_orphans(l) && !addrmap_get(&l->books[family].gone, addr);
}

static bool may_be_older(const struct ledger *l, taddr addr)
{
	return ledger_may_be_older(l, l->family, addr);
}

static int gone(struct ledger *l, const struct orphan *o)
{
	if (!may_be_older(l, o->addr))
		return 0;
	if (addrmap_put(&l->books[l->family].gone, o->addr, NULL) < 0)
		return -ENOMEM;
	return add_orphan(l, o);
}

int ledger_older_displaced(struct ledger *l, taddr addr, uint32_t stack)
{
	return gone(l, &(struct orphan){ .kind = MMT_ALLOC, .addr = addr, .stack = stack });
}

int ledger_older_ref(struct ledger *l, const struct fact *f, uint32_t stack, bool ends)
{
	const struct orphan o = {
		.kind = f->kind, .addr = f->ref.addr, .stack = stack, .by = f->ref.by, .count = f->ref.count,
	};
	int r;

	if (!may_be_older(l, o.addr))
		return 0;
	r = ends ? gone(l, &o) : add_orphan(l, &o);
	return r < 0 ? r : 1;
}

int ledger_older_object(struct ledger *l, taddr addr, bool older)
{
	if (!older)
		return ledger_older_forgotten(l, addr);
	return may_be_older(l, addr) ? addrmap_put(&l->books[l->family].gone, addr, NULL) : 0;
}

static void count_release(struct ledger *l)
{
	l->frees++;
	l->unmatched_frees++;
}

int ledger_older_released(struct ledger *l, taddr addr)
{
	count_release(l);
	return gone(l, &(struct orphan){ .kind = MMT_FREE, .addr = addr });
}

int ledger_older_forgotten(struct ledger *l, taddr addr)
{
	return gone(l, &(struct orphan){ .kind = MMT_FORGET, .addr = addr });
}

int ledger_older_aside(struct ledger *l, taddr addr, uint64_t key, struct ledger_aside *a)
{
	a->orphan = may_be_older(l, addr);
	return a->orphan ? add_orphan(l, &(struct orphan){ .kind = MMT_ASIDE, .addr = addr, .key = key }) : 0;
}

int ledger_older_aside_freed(struct ledger *l, uint64_t key, const struct ledger_aside *a)
{
	count_release(l);
	if (!keeps_orphans(l) || (a && !a->orphan))
		return 0;
	return add_orphan(l, &(struct orphan){ .kind = MMT_ASIDE_FREED, .key = key });
}

/*
 * An earlier piece may have put a block aside, which may be put back at any address: older blocks may be
 * anywhere again. Objects are not put aside.
 */
static void nothing_is_gone(struct ledger *l)
{
	for (size_t i = 0; i < l->nbooks; i++)
		if (!l->defs.families[i].refs)
			addrmap_fini(&l->books[i].gone);	/* it is empty and usable then */
}

int ledger_older_aside_back(struct ledger *l, uint64_t key, const struct ledger_aside *a)
{
	if (a && !a->orphan)
		return 0;
	if (!keeps_orphans(l)) {
		l->nonsense += !a;
		return 0;
	}
	if (a)
		addrmap_del(&l->books[a->family].gone, a->addr, NULL);
	else
		nothing_is_gone(l);
	return add_orphan(l, &(struct orphan){ .kind = MMT_ASIDE_BACK, .key = key });
}
