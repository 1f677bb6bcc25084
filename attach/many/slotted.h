/* SPDX-License-Identifier: MIT */
/*
 * slotted: the slots (attach/keeper/shared/slots.h), as the mmattach of several processes has them: it maps
 * them before any watch begins, claims the copies that are to be watched, and frees the slots of those that
 * are not.
 */
#ifndef MM_SLOTTED_H
#define MM_SLOTTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/keeper/shared/slots.h"

/*
 * Map them; NULL: there is no memory for them, or too few files may be open. Then a copy is let go, and
 * watched when it is found.
 */
struct slots *slotted_open(int bell);
void slotted_close(struct slots *all);

/*
 * Now and then: a slot takes up to 20 MiB when a copy has used it, and a keeper must not be what takes the
 * last memory of the machine, or of a container in which the target is, too: the kernel would kill the
 * largest process. All together may take half of what is there. slotted_most: how many that are.
 */
void slotted_fit(struct slots *all);
uint32_t slotted_most(uint64_t available);

/* In all of these, @all may be NULL. */

/* @pid is to be watched. true: it is recorded already. */
bool slotted_claim(struct slots *all, pid_t pid);

/* The slot in which it was claimed, and which nothing reads yet; or NULL. */
struct slot *slotted_find(struct slots *all, pid_t pid);

/*
 * The next copy, from *@i on, whose watch should begin: it is SLOTTED_DUE_NS old, or has recorded much. 0: there
 * is none. A look at /proc would find it later, or, if its parent has ended, not at all.
 */
#define SLOTTED_DUE_NS 100000000u
pid_t slotted_due(struct slots *all, uint32_t *i, uint64_t now_ns);

/* After how many milliseconds one is due, if that is less than @most; else @most. */
int slotted_due_ms(struct slots *all, uint64_t now_ns, int most);

/*
 * Free the slots that were claimed for processes which are neither watched nor to be: @needed; and those of
 * keepers that were killed.
 */
void slotted_sweep(struct slots *all, bool (*needed)(void *ctx, pid_t pid), void *ctx);

#endif
