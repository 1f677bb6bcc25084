/* SPDX-License-Identifier: MIT */
/*
 * fields: the fields of each kind of record, in their order: listed here only.
 *
 * Code that goes through a record's fields defines a macro for each type of field, and KIND, and expands the
 * lists:
 *
 *	ADDRESS(field)		by its difference to the address before
 *	U64(field) U32(field)	a varint
 *	SIGNED(field) SIGNED64(field)	a varint of zigzag
 *	STACK(field)		the number of a stack
 *	STACK_OR_NONE(field)	the number of a stack + 1, or 0
 *	FLAGS(field, bit, other, its)	a varint of flags
 *	FLAG(field, bit)	the same with one
 *	TEXT(field)		a varint, length + 1 or 0 for none, and the bytes
 *	RUN() ARGUMENTS() LIST() POINTS() USES() LOOK() JUDGED() SAMPLE() BUDGET()
 *	PROCESS() MERGED() BINS()	the ends of twelve kinds that are lists
 *
 * A field is named as in struct fact. A member of struct fact that is in no list here is not written, except
 * for those of the lists above, which encode.c and decode.c write and read themselves (LIST, USES, ...).
 */
#ifndef MM_FIELDS_H
#define MM_FIELDS_H

#define FIELDS_OF_EVENTS										\
	KIND(MMT_ALLOC, ADDRESS(block.addr) U64(block.size) STACK(block.stack))				\
	KIND(MMT_FREE, ADDRESS(block.addr))								\
	KIND(MMT_FREE_AT, ADDRESS(block.addr) STACK(block.stack))					\
	KIND(MMT_OLD, ADDRESS(block.addr) STACK_OR_NONE(block.stack))					\
	KIND(MMT_TWICE, ADDRESS(block.addr) STACK_OR_NONE(block.stack) STACK_OR_NONE(block.first)	\
			STACK_OR_NONE(block.alloc) U64(block.size))					\
	KIND(MMT_ASIDE, U64(block.key) ADDRESS(block.addr))						\
	KIND(MMT_ASIDE_FREED, U64(block.key) STACK_OR_NONE(block.stack))				\
	KIND(MMT_ASIDE_BACK, U64(block.key))								\
	KIND(MMT_FORGET, ADDRESS(block.addr))								\
	KIND(MMT_HELD, ADDRESS(block.addr) U64(block.size) STACK(block.stack) U64(block.birth_us))	\
	KIND(MMT_FAMILY, U32(family))									\
	KIND(MMT_TIME, )										\
	KIND(MMT_REF, REFERENCES)									\
	KIND(MMT_UNREF, REFERENCES)									\
	KIND(MMT_BORN, REFERENCES)									\
	KIND(MMT_COUNTED, ADDRESS(ref.addr) U64(ref.count))						\
	KIND(MMT_OBJECT, ADDRESS(object.addr) U64(object.birth_us) SIGNED64(object.net)			\
			 FLAGS(object.older, MMT_OBJECT_OLDER, object.counted, MMT_OBJECT_COUNTED) USES())

#define REFERENCES ADDRESS(ref.addr) STACK(ref.stack) U64(ref.by) U64(ref.count)

#define FIELDS_OF_INFO                                                                                       \
	KIND(MMT_RUN, RUN())                                                                                 \
	KIND(MMT_TARGET, SIGNED(target.pid) TEXT(target.comm) TEXT(target.exe) ARGUMENTS())                  \
	KIND(MMT_FAMILY_NAME, U32(family_name.number) TEXT(family_name.name)                        \
				      FLAGS(family_name.refs, MMT_FAMILY_REFS, family_name.ranges,           \
					    MMT_FAMILY_RANGES) TEXT(family_name.noun))                       \
	KIND(MMT_MODULE, U32(module.number) U32(module.file) U64(module.bias) U64(module.lo) U64(module.hi)  \
				 TEXT(module.path) TEXT(module.build_id))                                    \
	KIND(MMT_FRAME, U32(frame.number) U64(frame.pc) U32(frame.module)                                    \
				FLAGS(frame.exact, MMT_FRAME_EXACT, frame.skip, MMT_FRAME_SKIP))             \
	KIND(MMT_NODE, U32(node.number) U32(node.caller) U32(node.frame))                                    \
	KIND(MMT_STACK, U32(stack.number) U32(stack.node) U32(stack.end) U32(stack.tag))            \
	KIND(MMT_NAMES, U32(names.frame) LIST())                                                             \
	KIND(MMT_PROBE,                                                                                      \
	     U32(probe.number) U32(probe.family) TEXT(probe.rule) TEXT(probe.module) TEXT(probe.note))       \
	KIND(MMT_HITS, U32(hits.probe) U64(hits.hits))                                                       \
	KIND(MMT_LOST, TEXT(lost.reason) U64(lost.count))                                                    \
	KIND(MMT_COUNT, U32(count.which) U64(count.value))                                                   \
	KIND(MMT_GAP, U64(gap.start_us) U64(gap.length_us) TEXT(gap.why))                                    \
	KIND(MMT_NOTE, TEXT(note))                                                                           \
	KIND(MMT_PLACE, STACK(place.stack) U64(place.allocs) U64(place.frees) U64(place.span_us) POINTS()    \
				 U64(place.bytes))                                                   \
	KIND(MMT_TOTALS, U64(totals.old) U64(totals.twice))                                                  \
	KIND(MMT_END, )                                                                                      \
	KIND(MMT_TAG, U32(tag.number) TEXT(tag.text))                                                        \
	KIND(MMT_SKIP, TEXT(skip))                                                                           \
	KIND(MMT_VERDICTS, LOOK())                                                                           \
	KIND(MMT_JUDGED, U32(judged.verdict) JUDGED())                                                       \
	KIND(MMT_SAMPLE, STACK(sample.stack) SAMPLE())                                                       \
	KIND(MMT_BUDGET, BUDGET())                                                                           \
	KIND(MMT_MEMORY, SIGNED(memory.pid) TEXT(memory.name) U64(memory.point.at_us)                        \
				 U64(memory.point.anonymous) U64(memory.point.file) U64(memory.point.shared) \
					 U64(memory.point.swapped) U64(memory.point.heap)           \
						 U64(memory.point.mapped) U64(memory.point.threads)          \
							 U64(memory.point.descriptors)                       \
								 U64(memory.point.busy_us))                  \
	KIND(MMT_RUNTIME, TEXT(runtime))                                                                     \
	KIND(MMT_PROCESS, PROCESS())                                                                         \
	KIND(MMT_MERGED, STACK(merged.stack) MERGED())                                                       \
	KIND(MMT_BINS, U32(bins.which) BINS())                                                               \
	KIND(MMT_SAID, TEXT(said.note) U64(said.processes))                                                  \
	KIND(MMT_HANG, U32(hang.family) U32(hang.verdict) STACK(hang.on) STACK(hang.stack) U64(hang.blocks)  \
			       U64(hang.bytes))                                                              \
	KIND(MMT_OLDER, U64(place.size) U64(place.frees) U64(place.bytes) U64(place.span_us) POINTS())

/*
 * The numbers of struct fact_sample and of struct fact_budget. Nine members of a sample are not in the list:
 * `standing` comes before it, as a flag; its steps (`nsteps`, `steps`), `late_exposed_us`, `missed`, `stood_us`,
 * `process`, `searched`, `lost` and `losing` come after it (put_sample in encode.c, get_sample in decode.c).
 */
#define FIELDS_OF_SAMPLE(X)                                                                                  \
	X(seen)                                                                                              \
	X(late_seen) X(usable_bytes) X(site_seen) X(site_hits) X(rounds) X(full) X(exposed_us) X(hits2)       \
		X(hits_exposed) X(exposed2)
#define FIELDS_OF_BUDGET(X)                                                                                  \
	X(promise_ppm)                                                                                       \
	X(spent_us) X(wall_us) X(worst_ppm) X(closed) X(closed_us) X(sites) X(sites_hit) X(sites_settled)    \
		X(candidates) X(unfound)
/* After these, in traces of this version and later. */
#define FIELDS_OF_LOSS(X)                                                                                    \
	X(over_us)                                                                                           \
	X(blocks) X(bytes) X(before_blocks) X(before_bytes)
/* Likewise, of a sample. */
#define FIELDS_OF_LOSING(X)                                                                                  \
	X(seen)                                                                                              \
	X(lost) X(over_us) X(blocks) X(least) X(most) X(bytes)
/* The numbers of struct fact_merged before its lists (put_merged in encode.c, get_merged in decode.c). */
#define FIELDS_OF_MERGED(X)                                                                                  \
	X(blocks)                                                                                            \
	X(bytes) X(indirect_blocks) X(indirect_bytes) X(oldest_us) X(youngest_us) X(seen) X(seen_bytes)      \
		X(blocks_variance) X(bytes_variance) X(span_us)

#endif
