/* SPDX-License-Identifier: MIT */
/* How what is live grows. */
#include "report/fields/parts.h"
#include "report/fields/table.h"

/* How fast what is live grows: known exactly, or, of a watch with --budget, between these. */
static struct field_interval between(const struct summary_group *g)
{
	if (g->sampled)
		return BOUNDS(g->sampled->kept_bytes.low, g->sampled->kept_bytes.high);
	return BOUNDS(g->growth.bytes_per_minute, g->growth.bytes_per_minute);
}

#define GROWTH(F)											\
	F(word(shape), shape, ALL | C, g->growth.shape,							\
	  "unknown: too short to say; slows: grows more slowly; level: levelled off; once: came at once.") \
	F(real, bytes_per_minute, ALL | C, g->growth.bytes_per_minute,					\
	  "Now: over the last part of the watch if it grows, else over all of it.")			\
	F(bounds, between, ALL | C, between(g), "Between what that is, in 95 of 100 cases.")		\
	F(seconds, since_s, ALL | C, g->growth.since_s,						\
	  "level, once: since when, in seconds since the start.")					\
	F(real, replaced_per_minute, ALL | C, g->growth.replaced_per_minute,				\
	  "Bytes that came for older blocks, which were freed: they are no growth.")

FIELDS(growth, const struct summary_group *g, GROWTH, "How what is live grows.");

#define REF_GROWTH(F)											\
	F(word(shape), shape, ALL | C, g->shape, "As of blocks.")					\
	F(real, references_per_minute, ALL | C, g->bytes_per_minute, "As bytes_per_minute of blocks.")	\
	F(seconds, since_s, ALL | C, g->since_s, "level, once: since when, in seconds since the start.")

FIELDS(ref_growth, const struct growth *g, REF_GROWTH, "How references grow.");
