/* SPDX-License-Identifier: MIT */
/*
 * The run with references that the report tests print: a translator of GlusterFS that forgets to release a
 * dict in every tenth lookup; inodes that are cached, with many different counts; objects from before the
 * watch.
 */
#ifndef REFS_EXAMPLE_H
#define REFS_EXAMPLE_H

#include "report/model/summary.h"

#define GLUSTERFS "/usr/sbin/glusterfsd"
#define LIBGLUSTERFS "/usr/lib/libglusterfs.so.0.0.1"
#define LEAKY "/srv/x/leaky.so"

static struct summary_frame in_dict_new[] = {
	{ .pc = 0x7f0001000, .module = LIBGLUSTERFS, .offset = 0x1000, .function = "dict_new" },
	{ .pc = 0x7f0002000, .module = LIBGLUSTERFS, .offset = 0x2000, .function = "server_lookup",
	  .file = "server.c", .line = 12 },
};
static struct summary_frame in_unserialize[] = {
	{ .pc = 0x7f0003000, .module = LIBGLUSTERFS, .offset = 0x3000, .function = "server_lookup",
	  .file = "server.c", .line = 30 },
};
static struct summary_frame in_leaky[] = {
	{ .pc = 0x7f0010000, .module = LIBGLUSTERFS, .offset = 0x4000, .function = "data_ref_wrapper" },
	{ .pc = 0x7f0100000, .module = LEAKY, .offset = 0x1a0, .function = "leaky_lookup", .file = "leaky.c",
	  .line = 88 },
	{ .pc = 0x7f0005000, .module = LIBGLUSTERFS, .offset = 0x5000, .function = "default_lookup" },
};
static struct summary_frame in_cbk[] = {
	{ .pc = 0x7f0006000, .module = LIBGLUSTERFS, .offset = 0x6000, .function = "server_lookup_cbk",
	  .file = "server.c", .line = 70 },
};
static struct summary_frame in_done[] = {
	{ .pc = 0x7f0007000, .module = LIBGLUSTERFS, .offset = 0x7000, .function = "free_state",
	  .file = "state.c", .line = 9 },
};

static inline struct summary_use example_use(uint32_t place, uint64_t count, uint64_t objects, uint64_t kept,
					     uint64_t in_all, struct summary_frame *frames, size_t depth)
{
	return (struct summary_use){
		.site = place, .count = count, .per_object = (double)count / (double)objects,
		.acquired_in_all = in_all,
		.outstanding = kept, .stack = { frames, depth },
	};
}

static inline void add_leaked_dicts(struct summary *s)
{
	struct summary_use taken[] = {
		example_use(1, 529, 529, 529, 5292, in_dict_new, 2),
		example_use(2, 529, 529, 529, 5292, in_unserialize, 1),
		example_use(3, 529, 529, 529, 529, in_leaky, 3),
	};
	struct summary_use dropped[] = {
		example_use(4, 529, 529, 0, 0, in_cbk, 1), example_use(5, 529, 529, 0, 0, in_done, 1),
	};
	struct growth_point series[] = { { 150, 130, 0 }, { 300, 262, 0 }, { 450, 397, 0 }, { 600, 529, 0 } };
	taddr samples[] = { 0x7f0a00001010, 0x7f0a00001080 };

	taken[2].stack.wrappers = 1;
	summary_sort_uses(taken, 3);
	summary_sort_uses(dropped, 2);
	summary_add_refs(s, &(struct summary_refs){
		.family = "dict", .objects = 529, .net = 1, .signature = 1, .oldest_s = 598.2,
		.youngest_s = 1.1,
		.growth = { GROWTH_GROWS, 53, 0 }, .series = series, .npoints = 4, .samples = samples,
		.nsamples = 2,
		.acquired = taken, .nacquired = 3, .released = dropped, .nreleased = 2 });
}

static inline void add_old_dicts(struct summary *s)
{
	struct summary_use dropped[] = { example_use(5, 8, 4, 0, 0, in_done, 1) };

	summary_add_refs(s, &(struct summary_refs){
		.family = "dict", .objects = 4, .net = -2, .older = true, .signature = 2, .oldest_s = 500,
		.youngest_s = 400,
		.released = dropped, .nreleased = 1 });
}

/* A cache: 30 inodes, each with a different number of references. */
static inline void add_cached_inodes(struct summary *s)
{
	for (uint64_t net = 1; net <= 6; net++) {
		uint64_t n = 12 - 2 * (net - 1);
		struct summary_use taken[] = {
			example_use(1, n, n, 42, 900, in_dict_new, 2),
			example_use(2, n * (net + 1), n, 90, 2000, in_cbk, 1),
		};
		struct summary_use dropped[] = { example_use(3, 2 * n, n, 0, 0, in_done, 1) };

		summary_sort_uses(taken, 2);
		summary_add_refs(s, &(struct summary_refs){
			.family = "inode", .noun = "inode", .objects = n, .net = (int64_t)net,
			.counted = true, .signature = 7,
			.oldest_s = 590, .youngest_s = (double)net, .growth = { GROWTH_LEVEL, 0, 120 },
			.acquired = taken,
			.nacquired = 2, .released = dropped, .nreleased = 1 });
	}
	summary_add_refs(s, &(struct summary_refs){
		.family = "inode", .noun = "inode", .objects = 1, .net = 3, .older = true, .counted = true,
		.signature = 8,
		.oldest_s = 580, .youngest_s = 580 });
}

static inline void refs_example_run(struct summary *s)
{
	summary_init(s);
	summary_set_target(s, 4711, "glusterfsd", GLUSTERFS);
	s->run.start_ns = INT64_C(1767225600000000000);
	s->run.seconds = 600;
	s->run.events = 31758;
	s->run.stopped_seconds = 1.5;
	summary_add_probe(s, &(struct summary_probe){ "dict", "ref dict_ref", LIBGLUSTERFS, 11113, NULL });
	summary_add_probe(s,
			  &(struct summary_probe){ "dict", "unref dict_unref", LIBGLUSTERFS, 10592, NULL });
}

static inline void dict_example(struct summary *s)
{
	refs_example_run(s);
	summary_add_family(s, &(struct summary_family){ .name = "dict", .refs = true, .acquired = 11113,
							.released = 10592, .live = 533, .older = 4,
							.net = 529 });
	add_old_dicts(s);
	add_leaked_dicts(s);
	summary_sort(s);
}

/* Blocks, descriptors, dicts and inodes in one run. */
static inline void families_example(struct summary *s)
{
	struct summary_frame frame = { .pc = 0x5500, .module = GLUSTERFS, .offset = 0x500,
				       .function = "accept_client", .file = "net.c", .line = 5 };

	refs_example_run(s);
	s->totals = (struct summary_totals){ 740, 660, 3, 0, 82, 4099, 0, 0 };
	summary_add_family(
		s, &(struct summary_family){
			   .name = "libc", .acquired = 700, .released = 630, .live = 70, .bytes = 4087 });
	summary_add_family(s, &(struct summary_family){ .name = "fd", .noun = "descriptor", .acquired = 40,
							.released = 28, .live = 12, .bytes = 12 });
	summary_add_family(s, &(struct summary_family){ .name = "dict", .refs = true, .acquired = 11113,
							.released = 10592, .live = 533, .older = 4,
							.net = 529 });
	summary_add_family(s, &(struct summary_family){ .name = "inode",
							.noun = "inode",
							.refs = true,
							.acquired = 2900,
							.released = 2800,
							.live = 43,
							.older = 1,
							.net = 112 });
	summary_add_group(s, &(struct summary_group){ .family = "fd",
						      .blocks = 12,
						      .bytes = 12,
						      .allocs = 40,
						      .frees = 28,
						      .oldest_s = 9,
						      .youngest_s = 1,
						      .growth = { GROWTH_GROWS, 1.2, 0 },
						      .stack = { &frame, 1 } });
	summary_add_group(s, &(struct summary_group){ .family = "libc",
						      .tag = "gf_common_mt_strdup",
						      .blocks = 70,
						      .bytes = 4087,
						      .allocs = 700,
						      .frees = 630,
						      .oldest_s = 9,
						      .youngest_s = 1,
						      .growth = { GROWTH_LEVEL, 0, 300 },
						      .stack = { &frame, 1 } });
	add_cached_inodes(s);
	add_old_dicts(s);
	add_leaked_dicts(s);
	summary_sort(s);
}

#endif
