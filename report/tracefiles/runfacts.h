/* SPDX-License-Identifier: MIT */
/*
 * runfacts: what a ledger knows of its run, written again as facts: for the head and the end of each piece of
 * a trace, and for a shrunken trace. All get the time @time_us. 0 or -errno of the writer.
 */
#ifndef MM_RUNFACTS_H
#define MM_RUNFACTS_H

#include <stdint.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"
#include "trace/writer.h"

/* The run and its target; @piece and @last as in fact_run. */
must_check int runfacts_put_run(const struct ledger *l, uint32_t piece, uint32_t last, uint64_t time_us,
				struct writer *w);

/* What was watched: the probes, and the functions that are left out of stacks. */
must_check int runfacts_put_probes(const struct ledger *l, uint64_t time_us, struct writer *w);

/* The facts about the last verdicts, if there are any; @passed as in struct fact_verdicts. */
must_check int runfacts_put_verdicts(const struct ledger *l, uint64_t passed, uint64_t time_us,
				     struct writer *w);

/* Numbers until now: hits, counts, losses. */
must_check int runfacts_put_numbers(const struct ledger *l, uint64_t time_us, struct writer *w);

/*
 * The estimates of a sampled run for the stacks of all families, and its budget. Afterwards the writer's
 * family is that of the last fact that @l has taken, as before.
 */
must_check int runfacts_put_samples(const struct ledger *l, uint64_t time_us, struct writer *w);

#endif
