/* SPDX-License-Identifier: MIT */
/*
 * ledger_sample: what a sampled run says of its stacks and of its budget, in numbers until now (MMT_SAMPLE,
 * MMT_BUDGET): the last ones count. The conclusions are made with the report (report/model/sampled.h), so
 * that they are the same whether the facts come piece by piece or all at once.
 */
#ifndef MM_LEDGER_SAMPLE_H
#define MM_LEDGER_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "trace/fact.h"

/* Stacks. A run that tracks blocks of a tenth of this number is a large one. */
#define LEDGER_SAMPLES_MAX 200000
#define LEDGER_SAMPLES_MERGED 2000000	/* stacks, each in so many processes */

struct ledger;

struct ledger_sample {
	uint32_t family, stack;		/* indices */
	uint32_t process;		/* likewise, of a merged run */
	/* of the same stack, in a merged run: the next one's index + 1, or 0; of the first one: the last index */
	size_t next, last;
	struct fact_sample its;
};

struct ledger_samples {
	struct ledger_sample *all;	/* in the order in which they were first recorded */
	size_t n, size;
	struct addrmap index;		/* family and stack -> the first in all */
	struct fact_budget budget;	/* of a merged run: of all processes together */
	bool has_budget;
};

void ledger_samples_init(struct ledger_samples *s);
void ledger_samples_fini(struct ledger_samples *s);
size_t ledger_samples_memory(const struct ledger_samples *s);

/*
 * Take facts. 0; -ENOMEM; -EINVAL: the family is one of objects; -ENOSPC. A stack that was never defined is
 * counted, and left out.
 */
must_check int ledger_take_sample(struct ledger *l, const struct fact *f);
void ledger_take_budget(struct ledger *l, const struct fact_budget *budget);

/*
 * The samples of a stack, by indices: one, or, of a merged run, one or more of each process. NULL: there is none, or
 * no other.
 */
const struct ledger_sample *ledger_sample(const struct ledger *l, uint32_t family, uint32_t stack);
const struct ledger_sample *ledger_sample_next(const struct ledger *l, const struct ledger_sample *s);

/* Add one to a merged run, by indices, as ledger_take_sample. */
must_check int ledger_add_sample(struct ledger *l, uint32_t family, uint32_t stack, uint32_t process,
				 const struct fact_sample *its);

/* Add the budget of other processes. */
void ledger_add_budget(struct ledger *l, const struct fact_budget *budget);

/* Does the run say that it is sampled? */
bool ledger_is_sampled(const struct ledger *l);

#endif
