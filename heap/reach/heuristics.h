/* SPDX-License-Identifier: MIT */
/*
 * heuristics: pointers into a block that mean the whole of it, as valgrind 3.19 knows them.
 *
 *	stdstring             length, capacity, count, and the pointer is to the characters behind them (g++'s string before C++11)
 *	length64              the pointer is behind a word that says how long the rest is (sqlite)
 *	newarray              the pointer is behind a word that says how many elements there are: new T[n], where T has a destructor
 *	multipleinheritance   the pointer is to a part of an object: a vtable's address is where it points to, and one at the beginning
 *
 * valgrind knows how many bytes were asked for. An allocator's block has up to 15 more (malloc'd pages of their own: up to a page), so here
 * a size fits if it is that of any request that would have given such a block.
 */
#ifndef MM_HEURISTICS_H
#define MM_HEURISTICS_H

#include <stdbool.h>

#include "heap/block.h"
#include "heap/snapshot/snapshot.h"

/* Does @v, which points into @b behind its beginning, mean the whole block? @which: enum reach_heuristic. @exact: @b->size is what was asked for. */
bool heuristic_holds(const struct snapshot *s, const struct block *b, taddr v, unsigned which, bool exact);

#endif
