/* SPDX-License-Identifier: MIT */
/*
 * heapimage: the memory of a small process, as the fuzzer of the census reads it (tests/fuzz/fuzz_census.c)
 * and `censor -d` writes it.
 *
 * Records, each with its tag, numbers in the machine's byte order:
 *
 *	'M' u64 address, u16 pages, u8 perms (enum mapping_perms), u8 1: a file's	all zeros, except for
 *	'W' u64 address, u16 n, n u64
 *	'T' u64 orig_rax, fs_base, sp, rax, rbx, rbp					a thread
 */
#ifndef HEAPIMAGE_H
#define HEAPIMAGE_H

#include <stdint.h>

#define IMAGE_MAPPING 'M'
#define IMAGE_WORDS 'W'
#define IMAGE_THREAD 'T'

struct image_mapping {
	uint64_t at;
	uint16_t pages;
	uint8_t perms, file;
} __attribute__((packed));

struct image_words {
	uint64_t at;
	uint16_t n;
} __attribute__((packed));

struct image_thread {
	uint64_t orig_rax, fs_base, sp, rax, rbx, rbp;
} __attribute__((packed));

#endif
