/* SPDX-License-Identifier: MIT */
/*
 * selftest_check: are the records of a self-test (uprobe_selftest.h) those of the calls that were made? Pure.
 *
 * Each thread numbers its calls from 1, and a call has one record, or two: of its entry, and of its exit, with the
 * arguments of the entry, the result, and a slice of the stack with the caller's mark in it. In the order of the ring,
 * the calls of a thread have the next number each.
 */
#ifndef MM_SELFTEST_CHECK_H
#define MM_SELFTEST_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/uprobe/selftest_calls.h"
#include "attach/uprobe/uprobe_hits.h"

/* The sites of the test. */
enum selftest_site { SELFTEST_OPENS, SELFTEST_EXIT, SELFTEST_BRIEF };

struct selftest_check {
	struct selftest_seen {
		uint32_t tid;		/* 0: not seen yet */
		uint64_t last;		/* the last call of which all records came */
		bool open;		/* the next one's entry came, too */
	} threads[SELFTEST_THREADS];
	bool returns;			/* the exit is a return that is probed, as SELFTEST_OPENS */
	char wrong[120];		/* the first record that is not as it should be; "" */
};

/* The next record of the ring. false: it is wrong, or another one was before. */
bool selftest_check_record(struct selftest_check *c, const struct uprobe_head *h, size_t n);

/* Calls of which all records came. */
uint64_t selftest_check_calls(const struct selftest_check *c);

/* Were these all, of @made calls of the thread @tid? */
bool selftest_check_all(struct selftest_check *c, uint32_t tid, uint64_t made);

#endif
