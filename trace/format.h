/* SPDX-License-Identifier: MIT */
/*
 * format: the numbers of a trace file, once. doc/trace-format.md says what they mean.
 *
 * Other programs read and write traces too. So this file holds nothing but #define
 * NAME NUMBER lines (and comments): trace/constants.py makes a Python module of it.
 *
 *	file	= file head, block...
 *	block	= block head, payload (stored, or compressed with zstd)
 *	payload	= record...
 *	record	= a byte: kind in the low five bits, time passed in the high three; then fields
 *
 * All fixed-size numbers are little-endian; all others are LEB128 ("varint").
 */
#ifndef MMT_FORMAT_H
#define MMT_FORMAT_H

/* The file head: eight bytes of magic, u16 major, u16 minor, u32 CRC-32 of the twelve bytes before. */
#define MMT_FILE_MAGIC 0x0a1a0a0d544d4d89
#define MMT_FILE_HEAD 16
#define MMT_MAJOR 1
#define MMT_MINOR 0

/*
 * The block head: u32 magic, u32 number (0, 1, ... in each file), u32 length of the payload, u32 length as
 * stored, u32 codec, u32 the run's tag, u32 CRC-32 of the payload as stored, u32 CRC-32 of the 28 bytes
 * before.
 */
#define MMT_BLOCK_MAGIC 0xb1424d4d
#define MMT_BLOCK_HEAD 32
#define MMT_BLOCK_MAX 1048576

#define MMT_CODEC_STORED 0
#define MMT_CODEC_ZSTD 1

/*
 * The byte that begins a record. Time passed since the record before, in microseconds: 0 to 6; 7: a varint
 * follows the byte.
 */
#define MMT_KIND_BITS 5
#define MMT_KIND_MASK 31
#define MMT_TIME_FOLLOWS 7

/* Events. At the start of a block the time is 0, the address before is 0, the family is 0. */
#define MMT_ALLOC 1		/* address, size, stack: a block was allocated */
#define MMT_FREE 2		/* address: a live block was freed */
#define MMT_FREE_AT 3		/* address, stack: the same, and the stack that freed it */
/* address, stack + 1 or 0: an unknown block was freed: it is older than the watch */
#define MMT_OLD 4
/* address, stack + 1 or 0, the first free's, the allocation's, how many more like it: freed again */
#define MMT_TWICE 5
#define MMT_ASIDE 6		/* key, address: the free of a live block began (realloc) */
#define MMT_ASIDE_FREED 7	/* key, stack + 1 or 0: and the block was freed */
#define MMT_ASIDE_BACK 8	/* key: and it was not */
#define MMT_FORGET 9		/* address: a block that is live there is removed, and not counted as freed */
/* address, size, stack, birth: a live block; counted in no total (shrunken traces) */
#define MMT_HELD 10
#define MMT_FAMILY 11		/* family: events from here on are of it */
#define MMT_TIME 12		/* nothing: only that time has passed */
/* address, stack, by, count + 1 or 0: references acquired; the object's own count now */
#define MMT_REF 13
#define MMT_UNREF 14		/* the same: released */
/* as MMT_REF; and the object is new: an object that was at that address before no longer exists */
#define MMT_BORN 15
#define MMT_COUNTED 16		/* address, count: the object's own count, as it was read */
/* address, birth, net (zigzag), flags, uses: an object exists; counted in no total (shrunken traces) */
#define MMT_OBJECT 17
#define MMT_INFO 31		/* varint kind of information, varint length, that many bytes */

/* Information. What is numbered is defined before it is used, in each file. */
#define MMT_RUN 1		/* about the run: keys and values */
#define MMT_TARGET 2		/* pid, comm, exe, number of arguments, arguments */
#define MMT_FAMILY_NAME 3	/* family, name, kind, what a block or object is called */
#define MMT_MODULE 4		/* number, file, load bias, low, high, path, build id */
#define MMT_FRAME 5		/* number, pc, module + 1 or 0, flags */
#define MMT_NODE 6		/* number, caller (0: none), frame */
#define MMT_STACK 7		/* number, node of the leaf (0: no frame), how it ends, tag + 1 or 0 */
/* frame, how many, for each: function, linkage name, source file, line, flags */
#define MMT_NAMES 8
#define MMT_PROBE 9		/* number, family, rule, module, note */
#define MMT_HITS 10		/* probe, hits until now */
#define MMT_LOST 11		/* reason, how many until now */
#define MMT_COUNT 12		/* which, value until now */
#define MMT_GAP 13		/* start, length, why */
#define MMT_NOTE 14		/* a sentence */
/* stack, allocations, frees, series, bytes allocated: of what a shrunken trace left out */
#define MMT_PLACE 15
#define MMT_TOTALS 16		/* frees of unknown blocks, double frees: likewise */
#define MMT_END 17		/* the run ended here, regularly */
#define MMT_TAG 18		/* number, text: distinguishes stacks with the same frames */
#define MMT_SKIP 19		/* function: a wrapper; its frames are left out at the front of stacks */
/* a snapshot for verdicts: how it went. Verdicts of an earlier snapshot are discarded */
#define MMT_VERDICTS 20
/*
 * MMT_JUDGED: verdict, how many, for each: address, blocks and bytes that are lost with it: of the last
 * snapshot, and of the family. For an indirectly lost block: 1, and instead of the bytes the address of the
 * lost block with which it is lost; or only 0, if that is not known.
 */
#define MMT_JUDGED 21
/*
 * stack, flags, numbers until now, how many steps, for each: at risk, gone, unknown: of the family; what an
 * estimate needs
 */
#define MMT_SAMPLE 22
#define MMT_BUDGET 23		/* numbers until now: what a sampled run may cost, and what it has cost */

/* pid, name, when, bytes: the memory use of a process then: of the target, or a child of it */
#define MMT_MEMORY 24
#define MMT_RUNTIME 25		/* name: a language runtime with a heap of its own runs the process */

/* Of a merged trace, which is of several processes (`mmattach merge`). */
/* number, ...: one of the processes, and its own totals */
#define MMT_PROCESS 26
/* stack, verdict, ...: the live blocks of a stack in all processes: of the family */
#define MMT_MERGED 27
#define MMT_BINS 28		/* which, how many, for each: blocks, bytes: live blocks of the family */
#define MMT_SAID 29		/* a sentence, in how many processes: an MMT_NOTE of those */
/* family, verdict and stack of lost blocks; stack, blocks, bytes: of the family, indirectly lost with those */
#define MMT_HANG 30
/*
 * size, blocks, bytes, series of bytes: so many unknown blocks of about this size were freed, of those that are
 * counted by MMT_OLD or MMT_TOTALS; of the family; without a series: now
 */
#define MMT_OLDER 31

/* MMT_RUN */
#define MMT_RUN_ID 1		/* sixteen random bytes */
#define MMT_RUN_PIECE 2		/* this file is piece number N of the run, from 1 */
#define MMT_RUN_START 3		/* nanoseconds since 1970 */
#define MMT_RUN_FRONTEND 4	/* "ptrace", "gdb", ... */
#define MMT_RUN_MODE 5		/* "exact", "sampled", "sampled-bytes", "growth" */
#define MMT_RUN_WRITER 6	/* name and version of the program that wrote it */
#define MMT_RUN_LAST 7		/* this file replaces pieces MMT_RUN_PIECE to N */
#define MMT_RUN_HOST 8		/* the name of the machine */
#define MMT_RUN_SAMPLE 9	/* mode "sampled-bytes": a block is there if one of its bytes, of so many, was chosen */
#define MMT_RUN_ENGINE 10	/* the engine that was asked for: "ptrace", "uprobe", "auto" */
#define MMT_RUN_OTHER 11	/* why it could not be by the other engine */

/* MMT_COUNT */
#define MMT_COUNT_EVENTS 1	/* calls that counted */
#define MMT_COUNT_STACKS_CUT 2
#define MMT_COUNT_STACKS_LOST 3
#define MMT_COUNT_RING_WAITS 4
#define MMT_COUNT_STOPPED_US 5	/* how long threads were stopped, summed over them */
/* share of the time for which traps were planted; sampled: the mean over sites that were hit */
#define MMT_COUNT_DUTY_PPM 6
/* ranges of memory that do not count: not allocated by the selected threads or modules */
#define MMT_COUNT_LEFT_OUT 7

/* the time of the target's threads, added up: MMT_COUNT_STOPPED_US is a part of it */
#define MMT_COUNT_THREAD_US 8
#define MMT_COUNT_HITTING_US 9	/* the same of those that have called what is watched; */
#define MMT_COUNT_HITTING_STOPPED_US 10	/* how long these were stopped; */
#define MMT_COUNT_HITTING 11	/* and how many there were */
/* bytes of the target's code that the kernel has copied since traps were written into them */
#define MMT_COUNT_CODE_COPIED 12
/* how long the thread that was stopped longest was that, of the time since its first call; */
#define MMT_COUNT_WORST_STOPPED_US 13
#define MMT_COUNT_WORST_US 14
/* with the kernel's probes nothing is stopped: what they took at least, of all threads; the two above likewise */
#define MMT_COUNT_PROBED_US 15

/* MMT_FAMILY_NAME, kind: what its events are about */
#define MMT_FAMILY_BLOCKS 0
/* objects with references: MMT_REF ... MMT_OBJECT, MMT_FORGET, and no others */
#define MMT_FAMILY_REFS 1
/* ranges of addresses: one of which a part is freed is forgotten, and its remaining parts are MMT_HELD */
#define MMT_FAMILY_RANGES 2

/* MMT_OBJECT flags */
#define MMT_OBJECT_OLDER 1	/* it is older than the watch; its net is added to what is known of it */
/* the net is the object's own count; else the references acquired less those released */
#define MMT_OBJECT_COUNTED 2

/* MMT_PROCESS flags */
#define MMT_PROCESS_ENDED 1	/* the watch ended regularly */
#define MMT_PROCESS_JUDGED 2	/* its blocks have verdicts */
#define MMT_PROCESS_ABSENT 4	/* nothing is known of its memory, and the last text says why */

/* MMT_BINS, which: a bin from 0, from 1, from 2, from 4, ... */
#define MMT_BINS_SIZES 0	/* of blocks, in bytes */
#define MMT_BINS_AGES 1		/* of blocks, in microseconds */
#define MMT_BINS_MAX 65

/* MMT_VERDICTS flags */
#define MMT_VERDICTS_TAKEN 1	/* else it failed, and the reason says why */
#define MMT_VERDICTS_CENSUS 2	/* unwatched blocks were found in the heap, too, and have verdicts */

/* A verdict, as valgrind means it. */
#define MMT_VERDICT_UNKNOWN 0
#define MMT_VERDICT_DEFINITE 1
#define MMT_VERDICT_INDIRECT 2
#define MMT_VERDICT_POSSIBLE 3
#define MMT_VERDICT_REACHABLE 4

/* MMT_SAMPLE flags */
#define MMT_SAMPLE_STANDING 1	/* the trap of its site is planted all the time by now */
/* The largest number of steps of age: the first begins at birth, then 3 ms, 10 ms, 30 ms, 0.1 s, ... */
#define MMT_SAMPLE_STEPS 16

/* MMT_FRAME flags */
#define MMT_FRAME_EXACT 1	/* the thread was at this pc; else it is a return address */
#define MMT_FRAME_SKIP 2	/* in a function that a rule says to leave out, as MMT_SKIP */
/* MMT_NAMES flags, of each function */
#define MMT_NAMES_INLINED 1	/* into the next one of the list */

/* How a stack ends at its outer side. */
#define MMT_END_WHOLE 0
#define MMT_END_CUT 1
#define MMT_END_LOST 2
#define MMT_END_DEEP 3
#define MMT_END_ELSEWHERE 4

/*
 * A series: live bytes (of objects: acquired references on objects that exist) at the end of each of at most
 * so many equal spans of time.
 */
#define MMT_SERIES_POINTS 32
#define MMT_SERIES_FIRST_US 10000

#endif
