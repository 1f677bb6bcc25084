/* SPDX-License-Identifier: MIT */
/*
 * survival: what age the blocks of a stack reach, from those that were tracked: a table of steps of age, and
 * the conclusion from it.
 *
 *	step	0	1	2	3	...	15
 *	from	0	3 ms	10 ms	30 ms	...	30,000 s
 *
 * Each tracked block counts in the steps it has reached: at risk in all of them, gone or unknown in the last
 * one; a block that is still tracked is only at risk. So the share that is freed in a step is gone/at_risk,
 * whenever the blocks were born (Kaplan and Meier).
 *
 *	stays		leaks: of the old ones (the last tenfold of age) hardly any is freed or becomes
 *			unknown. A leak, unless they live longer than the watch
 *	goes		freed: hardly any is left, or the old ones continue to go
 *	table		bounded: they stay, but none was allocated late in the run (its last fifth, or its
 *			last half), which would have been seen
 *	unknown		too few or too young, or too few expected for `table`; or some stay, but so small a
 *			share that they may be other blocks, at the addresses of short-lived ones
 *
 * A block may be freed and one with the same beginning allocated at its address between two looks; it then
 * seems to stay. This is noticed if the second allocation is seen; if only a part of the allocations is seen,
 * most such changes are not: survival_doubt().
 */
#ifndef MM_SURVIVAL_H
#define MM_SURVIVAL_H

#include <stdbool.h>
#include <stdint.h>

#define SURVIVAL_STEPS 16u
#define SURVIVAL_ENOUGH 8u	/* blocks at risk needed for a conclusion about an age */
/* `stays` needs blocks that have reached the first step from this age and this part of the watch on */
#define SURVIVAL_MIN_AGE_S 3.0
#define SURVIVAL_MIN_PART (1.0 / 8)
#define SURVIVAL_EXPECTED 3.0	/* allocations to be expected; then it is not chance that none is seen */
#define SURVIVAL_CHANCE 0.02	/* up to this share may be others, allocated there before the first look */

struct survival_step {
	uint64_t at_risk, gone, unknown;
};

enum survival_end { SURVIVAL_STILL, SURVIVAL_GONE, SURVIVAL_LOST };	/* LOST: the fate is unknown */

/* number, name in JSON */
#define SURVIVAL_KINDS(X) X(UNKNOWN, unknown) X(STAYS, stays) X(GOES, goes) X(TABLE, table)

enum survival_kind {
#define X(upper, lower) SURVIVAL_##upper,
	SURVIVAL_KINDS(X)
#undef X
	SURVIVAL_KIND_COUNT
};

struct survival {
	enum survival_kind kind;
	/*
	 * Of all allocated blocks, the share still there at age_s; 95 %. Blocks of unknown fate count as gone
	 * in low, and are left out of the others.
	 */
	double share, low, high;
	double age_s;			/* the highest step at which enough were at risk; 0: none */
	double min_age_s;		/* what that must be for `stays`: the age of that step */
	uint64_t followed;		/* tracked blocks, in all */
	uint64_t old;			/* at risk at age_s */
	double half_s;			/* about half had gone by this age; 0: fewer than half have */
	/* share of the old ones (last tenfold of age, from late_from_s) that is freed */
	double late, late_from_s;
	double lost;			/* share of them that is freed or becomes unknown */
	double followed_s;		/* the time for which blocks were tracked, added up */
};

/* The age at which a step begins; for SURVIVAL_STEPS and beyond, INFINITY. */
double survival_age_s(unsigned step);

/* Count a block whose age at its end (or at the last look, STILL) is @age_s. */
void survival_count(struct survival_step steps[SURVIVAL_STEPS], double age_s, enum survival_end end);

/*
 * @watched_s: how long the watch was. A site that was found late may have blocks that live for longer than it
 * was followed, and for much less than the watch. @late_seen: allocations seen late in the run;
 * @late_expected: how many would have been seen at the rate before.
 */
void survival_conclude(const struct survival_step steps[SURVIVAL_STEPS], double watched_s,
		       uint64_t late_seen, double late_expected, struct survival *out);

/* Enough blocks have become old, and of these hardly any is freed or becomes unknown. */
bool survival_is_still(const struct survival *s);

/*
 * The share that is left of all at the beginning of each step, as far as enough is known of it. Returns the
 * number of these steps: one at least.
 */
unsigned survival_left(const struct survival_step steps[SURVIVAL_STEPS], double left[SURVIVAL_STEPS]);

/*
 * Only a part @sees (0 to 1) of what the site allocates was seen. In two cases the blocks at the tracked
 * addresses may be others: then `stays` becomes unknown, and the share that is left, of any kind, may be 0
 * (low). UNNOTICED: if each block had lived for a third of the age that they seem to reach, reuse of their
 * addresses would hardly have been noticed. NOTICED: reuse was noticed more often than is possible with blocks
 * that stay, so even more went unnoticed. OTHERS, that what is left may be blocks of other allocation sites, is
 * decided in report/model/sampled_others.h, and POINTED_TO, that something points to it, in sampled.c.
 */
enum survival_doubt { SURVIVAL_SURE, SURVIVAL_UNNOTICED, SURVIVAL_NOTICED, SURVIVAL_OTHERS, SURVIVAL_POINTED_TO };

enum survival_doubt survival_doubt(struct survival *s, double sees);

const char *survival_name(enum survival_kind kind);

#endif
