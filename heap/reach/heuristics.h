/* SPDX-License-Identifier: MIT */
/*
 * heuristics: pointers into a block that mean the whole of it: valgrind 3.19's, and two more.
 *
 *	stdstring             length, capacity, count, and the pointer is to the characters after them (g++'s
 *	                      string before C++11)
 *	length64              the pointer is after a word with the length of the rest (sqlite)
 *	newarray              the pointer is after a word with the number of elements: new T[n], if T has a
 *	                      destructor
 *	multipleinheritance   the pointer is to a part of an object: a vtable's address is there, and another
 *	                      one at the beginning
 *	hashtable             the pointer is to the bytes that say which slots of a HashMap or HashSet of Rust's
 *	                      library (hashbrown) are used; the slots are before them
 *	sds                   the pointer is to the characters of a string of redis, after its length, the number
 *	                      of bytes allocated for it, and a byte that says how these are stored
 *
 * valgrind knows how many bytes were requested. An allocator's block has up to 15 more (if malloc has mapped
 * its pages: up to a page), so here a size fits if some request of that size would have been given such a
 * block.
 */
#ifndef MM_HEURISTICS_H
#define MM_HEURISTICS_H

#include <stdbool.h>

#include "heap/block.h"
#include "heap/snapshot/snapshot.h"

/*
 * Does @v, which points into @b after its beginning, mean the whole block? @which: enum reach_heuristic.
 * @exact: @b->size is the requested size.
 */
bool heuristic_holds(const struct snapshot *s, const struct block *b, taddr v, unsigned which, bool exact);

#endif
