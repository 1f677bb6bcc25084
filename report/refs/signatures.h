/* SPDX-License-Identifier: MIT */
/*
 * signatures: the objects of one family, grouped by what was done to them: see refgroups.h. Call sites are
 * numbers here, and have no names.
 */
#ifndef MM_SIGNATURES_H
#define MM_SIGNATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"

#define SIGNATURE_SAMPLES 5

/* What one call site did to an object, or to all objects of a group. */
struct sig_use {
	uint32_t place;
	uint64_t acquired, released;
};

struct sig_object {
	taddr addr;
	uint64_t birth_us;
	int64_t net;
	bool older, counted;
	const struct sig_use *uses;	/* by place, each once */
	uint32_t nuses;
};

struct sig_sample {
	uint64_t birth_us;
	taddr addr;
};

struct sig_group {
	int64_t net;
	bool older, counted;
	uint32_t kin;			/* the same for groups that differ only in net: 1, 2, ... */
	uint64_t objects;
	uint64_t oldest_us, youngest_us;	/* times of birth */
	struct sig_sample samples[SIGNATURE_SAMPLES];	/* the oldest, of equal ones the lowest addresses */
	uint32_t nsamples;
	struct sig_use *uses;		/* of all objects together, by place */
	uint32_t nuses;
};

struct signatures {
	struct sig_group *groups;
	size_t n;
	uint32_t nkin;
	struct addrmap by_hash;		/* hash of the whole signature -> index in groups */
	struct addrmap kin_by_hash;	/* hash of all but the net -> index of the first such group */
};

void signatures_init(struct signatures *sg);
void signatures_fini(struct signatures *sg);

/* Adds @o to its group, whose index is returned in @index. 0 or -ENOMEM. */
must_check int signatures_add(struct signatures *sg, const struct sig_object *o, uint32_t *index);

#endif
