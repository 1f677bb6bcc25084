/* SPDX-License-Identifier: MIT */
/*
 * sampling_parents: finds wrappers, by watching what functions do with the blocks that they get.
 *
 *	main ──▶ site_a ──▶ xmalloc ──▶ malloc
 *	              A ◀─────┘    S ◀────┘
 *
 * At S all callers of xmalloc are one site, and the rare one that leaks is lost among the others. So a trial
 * shows whether xmalloc is a wrapper. A thread that hits S is held for a moment (cost.h), until a trap is
 * planted at A, the return address that its stack shows. If then at A, in this thread, the function returns
 * the block just seen at S (or an address at a fixed offset inside it: a wrapper that keeps a header in
 * front; at any offset, if the heap knows where its blocks begin: jemalloc's), several times and never
 * anything else, the function around S returns its blocks to its caller.
 *
 * A function without a result may leave the address in rax by chance: so if callers overwrite rax, or call
 * another function, without having read it, and none reads it, it is no wrapper.
 *
 * It might also return blocks that it got long ago, as a pool does. So then threads are held at A, until the trap
 * at S is planted: each must run into S before it returns to A again, and return with the block from there. In
 * between it may call the function from elsewhere. (Only these threads count: one that is first seen at S has
 * allocated in any case.)
 *
 * This is not needed if the code up to S has no branch: then the function allocates each time, and threads are
 * held at S until it has returned its block some more times. And it is not possible if every caller calls
 * another function, which does not always jump there:
 *
 *	A ◀── createStringObject ──▶ jump to createEmbeddedStringObject or createObject ──▶ zmalloc
 *
 * Most of the threads may return to A without the function on trial. Then it is not known whether that is a
 * wrapper.
 *
 * If it is one, A and all its other callers become sites. From then on S is sampled now and then, for callers that
 * were not found: a call through a pointer may reach another function the next time, so that there is no trap
 * behind it.
 *
 * There is a trial only if it pays: the function is called directly, and by several callers; or it is hot, and
 * its one caller has several callers, or it was not tried yet: other callers may be too rare to be seen. And
 * trials are rare: the budget pays for each thread that is held.
 */
#ifndef MM_SAMPLING_PARENTS_H
#define MM_SAMPLING_PARENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/event.h"
#include "attach/sampling/blocks/block_heap.h"
#include "attach/sampling/sampling_sites.h"
#include "attach/sampling/sampling_trial.h"
#include "base/addrmap.h"
#include "base/cleanup.h"

#define SAMPLING_TRIALS 16u

struct sampling_parents {
	struct sampling_sites *sites;
	struct sampling_trial trials[SAMPLING_TRIALS];
	uint32_t next;		/* the trial for which a thread is held next */
	taddr held_for;		/* the function of the one for which threads are held now */
	uint64_t next_hold_ns, held_ns;	/* when the next hold is; what all have cost until now */
	uint32_t budget_ppm;
	struct addrmap last;	/* tid -> struct sampling_last */
	uint32_t nwrappers;/* functions that were found to be wrappers */
	uint32_t no_room;	/* and those for which there was no room */
};

void sampling_parents_init(struct sampling_parents *p, struct sampling_sites *sites, uint32_t budget_ppm);
void sampling_parents_fini(struct sampling_parents *p);

/*
 * @block was allocated at site @i, and the function around it was called from @caller (0: not known). If the
 * thread is held, it may resume when this returns. 0 or -ENOMEM.
 */
must_check int sampling_parents_site_hit(struct sampling_parents *p, uint32_t i, const struct record_hit *hit,
					 const struct block_birth *block, taddr caller);

/* Site @i, which belongs to a trial, was hit. The thread may be held, as above. 0 or -ENOMEM. */
must_check int sampling_parents_trial_hit(struct sampling_parents *p, uint32_t i, const struct record_hit *hit);

/*
 * Was a wrapper found? Then it is @function, and @target is its number; sites in it are inner ones, and its
 * callers are to be searched in all modules. To be called until it returns false.
 */
bool sampling_parents_decide(struct sampling_parents *p, uint64_t now_ns, taddr *function, uint32_t *target);

/* Let the next thread be held, if it is time for that. */
void sampling_parents_hold(struct sampling_parents *p, uint64_t now_ns);

/* When that will be; UINT64_MAX: there is no trial. */
uint64_t sampling_parents_next_ns(const struct sampling_parents *p);

void sampling_parents_thread_end(struct sampling_parents *p, uint32_t tid);

#endif
