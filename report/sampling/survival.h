/* SPDX-License-Identifier: MIT */
/*
 * survival: how old the blocks of a stack become, of which some were followed. A table of steps of age, and what it says.
 *
 *	step	0	1	2	3	...	15
 *	from	0	3 ms	10 ms	30 ms	...	30,000 s
 *
 * Each followed block counts in the steps it has reached: at risk in all of them, gone or unknown in the last one; one that is followed still is at risk and
 * no more. So the share that goes in a step is gone/at_risk, whenever the blocks were born (Kaplan and Meier).
 *
 *	stays		of the old ones (the last tenfold of age) hardly any goes or is lost sight of: a leak, unless they live longer than we looked
 *	goes		hardly any is left, or the old ones go on going
 *	table		they stay, but none was given out for the last fifth of the run, though that would have been seen
 *	unknown		too few or too young, or too few to be expected for a table; or some stay, but of so many that they may be others, who have taken the places of short-lived ones
 *
 * A block that begins as those of its kind do may be given back and out again between two looks, and then seems to stay. That is noticed when its address
 * is seen given out; where only some of those births are seen, most such changes are not: survival_doubt().
 */
#ifndef MM_SURVIVAL_H
#define MM_SURVIVAL_H

#include <stdbool.h>
#include <stdint.h>

#define SURVIVAL_STEPS 16u
#define SURVIVAL_ENOUGH 8u	/* so many must be at risk, to say something of an age */
#define SURVIVAL_MIN_AGE_S 3.0	/* `stays` is said of no younger ones */
#define SURVIVAL_CHANCE 0.02	/* so few are left that they may be others, who were given the place before the first look */

struct survival_step {
	uint64_t at_risk, gone, unknown;
};

enum survival_end { SURVIVAL_STILL, SURVIVAL_GONE, SURVIVAL_LOST };	/* LOST: it cannot be told */

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
	double share, low, high;	/* of all that are given out, still there at age_s; 95 %. Blocks of unknown fate: gone in low, left out in the others */
	double age_s;			/* the highest step of which enough were at risk; 0: none */
	uint64_t followed;		/* in all */
	uint64_t old;			/* at risk at age_s */
	double half_s;			/* about half had gone by this age; 0: not so many have */
	double late, late_from_s;	/* of the old ones (the last tenfold of age, which begins at late_from_s), so many go */
	double lost;			/* so many go, or it cannot be told of them any more */
	double followed_s;		/* how long blocks were followed, added up */
};

/* Where a step begins; for SURVIVAL_STEPS and beyond, INFINITY. */
double survival_age_s(unsigned step);

/* Count a block whose age at its end (or at the last look, STILL) is @age_s. */
void survival_count(struct survival_step steps[SURVIVAL_STEPS], double age_s, enum survival_end end);

/* @late_seen: blocks seen when they were given out, in the last fifth of the run; @late_expected: were to be, had that gone on as before. */
void survival_judge(const struct survival_step steps[SURVIVAL_STEPS], uint64_t late_seen, double late_expected, struct survival *out);

/* Enough have become old, and hardly any of the old ones goes or is lost sight of. */
bool survival_is_still(const struct survival *s);

/*
 * The share that is left of all at the beginning of each step, as far as enough is known of it; of how many steps that is so: one at least.
 */
unsigned survival_left(const struct survival_step steps[SURVIVAL_STEPS], double left[SURVIVAL_STEPS]);

/*
 * Only a part @sees (0 to 1) of what the site gives out was seen. `stays` becomes unknown where hardly anybody would have noticed that blocks are given out
 * again, had each lived for a third of the age that they seem to reach (UNNOTICED); or where it was noticed more often than is to be had with
 * blocks that stay (NOTICED): of those that went unnoticed there are the more. OTHERS, that what is left may be of other places, is report/model/sampled_others.h.
 */
enum survival_doubt { SURVIVAL_SURE, SURVIVAL_UNNOTICED, SURVIVAL_NOTICED, SURVIVAL_OTHERS };

enum survival_doubt survival_doubt(struct survival *s, double sees);

const char *survival_name(enum survival_kind kind);

#endif
