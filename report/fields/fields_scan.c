/* SPDX-License-Identifier: MIT */
/*
 * A scan (report/model/scan.h): the allocator's own account, objects of CPython, and what points to an
 * address.
 */
#include "report/fields/parts.h"
#include "report/fields/table.h"

#include "report/model/scan.h"

#define SCAN_MEMORY(F) \
	F(bytes, copied, ALL, m->copied, "That was read; of a core, what is in it.")			\
	F(bytes, swapped, ALL, m->swapped, "That was in swap, and so not read.")				\
	F(bytes, missing, ALL, m->missing, "That could not be read.")

FIELDS(scan_memory, const struct scan_memory *m, SCAN_MEMORY, "Private writable memory, in bytes.");

#define MMAPPED(F) \
	F(uint, blocks, ALL, h->mmapped.blocks, "How many there are.")					\
	F(bytes, bytes, ALL, h->mmapped.bytes, "Their bytes.")						\
	F(uint_or_null, claimed, ALL, OR_NULL(h->mmapped_claimed != UINT64_MAX, h->mmapped_claimed), \
	  "The allocator's own figure; null: not found.")

FIELDS(mmapped, const struct scan_heap *h, MMAPPED, "Blocks that have a mapping of their own.");

#define ARENA(F) \
	F(address, address, ALL, a->at, "Where its record is.")						\
	F(bytes, system, ALL, a->system_bytes, "What it has from the system, as it says itself.")	\
	F(bytes, walked, ALL, a->walked_bytes, "What was found in it.")					\
	F(sum, used, ALL, a->used, "Blocks in use.")							\
	F(sum, fast, ALL, a->fast, "Free blocks in fast bins.")						\
	F(sum, tcache, ALL, a->tcache, "Free blocks in caches of threads.")				\
	F(sum, bins, ALL, a->bins, "Free blocks in other bins.")					\
	F(bytes, top, ALL, a->top_bytes, "Free memory at its end.")					\
	F(bytes, other, ALL, a->other_bytes, "The rest.")						\
	F(string_or_null, allocator, ALL, a->allocator, "Whose arena it is: glibc, jemalloc.")

FIELDS(arena, const struct scan_arena *a, ARENA, "An arena of the allocator.");

static struct scan_account account(const struct scan_heap *h)
{
	struct scan_account sums;

	scan_account(h, &sums);
	return sums;
}

#define HEAP(F) \
	F(bool, known, ALL, h->known, "Its blocks could be listed.")					\
	F(string, layout, ALL, h->layout, "Which allocator it is; if that is not known, why.")		\
	F(string_or_null, other_allocator, ALL, h->other, \
	  "An allocator whose blocks are not listed, with its file; null: none is known.")		\
	F(bool, adds_up, ALL, h->adds_up, "The allocator's own figures agree with what was found.")	\
	F(bytes, system, ALL, account(h).system, "From the system.")					\
	F(bytes, used, ALL, account(h).used, "In blocks that are in use.")				\
	F(sum, free, ALL, account(h).free, "Free blocks.")						\
	F(bytes, top, ALL, account(h).tops, "Free memory at the ends of arenas.")			\
	F(bytes, other, ALL, account(h).other, "The rest.")						\
	F(bytes, foreign, ALL, h->foreign_bytes, "Not the allocator's.")					\
	F(bytes, unseen, ALL, h->unseen_bytes, "That could not be read.")				\
	F(object(mmapped), mmapped, ALL, h, "Blocks that have a mapping of their own.")			\
	F(list(arena), arenas, ALL, ARRAY(h->arenas, h->narenas), "Its arenas.")

FIELDS(heap, const struct scan_heap *h, HEAP, "What the allocator has from the system, in bytes.");

#define SCAN_TRACE(F) \
	F(real_or_null, before_s, ALL, OR_NULL(t->timed, t->seconds), \
	  "From the end of the watch to the scan; null: not known.")					\
	F(uint, live, ALL, t->live, "Blocks that were live when the watch ended.")			\
	F(uint, same, ALL, t->same, "Blocks that have the address and size of one of these now.")	\
	F(uint, certain, ALL, t->certain, \
	  "Of them, those that were lost when the watch ended, and so were not freed since.")		\
	F(uint, resized, ALL, t->resized, "Blocks that have the address of one, and another size.")

FIELDS(scan_trace, const struct scan_trace *t, SCAN_TRACE,
       "With --with-trace: what the blocks that were live at the end of the watch are now.");

/* --- CPython --- */

#define HOLDER(F) \
	F(string, type, ALL, h->type, "Name of the type.")						\
	F(uint, pointers, ALL, h->pointers, "From its objects to these.")

FIELDS(holder, const struct scan_python_holder *h, HOLDER, "A type whose objects point to these.");

static size_t holders(const struct scan_python_type *t)
{
	size_t n = 0;

	while (n < SCAN_PYTHON_HOLDERS && t->holders[n].type)
		n++;
	return n;
}

#define PYTHON_TYPE(F) \
	F(string, name, ALL, t->name, \
	  "\"dict\", \"shop.Order\": with its module, if it is not built in. Not unique.")		\
	F(uint, objects, ALL, t->objects, "How many objects there are.")				\
	F(uint, tracked, ALL, t->tracked, "Of them, in lists of the garbage collector.")		\
	F(bytes, bytes, ALL, t->bytes, "Of their blocks, and of those that belong to them.")		\
	F(sum, with, ALL, t->with, "Blocks that belong to them: a list's items, a dict's table.")	\
	F(address, largest, ALL, t->largest, "The object with most bytes.")				\
	F(bytes, largest_bytes, ALL, t->largest_bytes, "Its bytes.")					\
	F(list(holder), holders, ALL, ARRAY(t->holders, holders(t)), \
	  "At most three types, with the number of pointers from their objects to these; most first.")

FIELDS(python_type, const struct scan_python_type *t, PYTHON_TYPE, "A type of objects.");

#define PYTHON(F) \
	F(string, version, ALL, p->version, "Of the interpreter.")					\
	F(string_or_null, why_not, ALL, p->why_not, "Why its objects are not listed; null: they are.")	\
	F(uint, objects, ALL, p->objects, "Live objects.")						\
	F(bytes, bytes, ALL, p->bytes, "Their bytes.")							\
	F(uint, arenas, ALL, p->arenas, "Arenas of the interpreter's own allocator.")			\
	F(bytes, arena_bytes, ALL, p->arena_bytes, "Of the pools of all arenas.")			\
	F(sum, small, ALL, p->small, "Blocks in use in arenas.")					\
	F(bytes, free_bytes, ALL, p->free_bytes, "Free in pools that have blocks.")			\
	F(bytes, empty_bytes, ALL, p->empty_bytes, "In pools without a block.")				\
	F(bytes, unseen_bytes, ALL, p->unseen_bytes, "In pools that could not be read.")			\
	F(uint, differing, ALL, p->differing, \
	  "Pools and arenas that do not agree with their own figures.")					\
	F(sum, large, ALL, p->large, "Objects in blocks of malloc.")					\
	F(sum, idle, ALL, p->idle, "Freed objects whose memory is kept for the next ones.")		\
	F(sum, other, ALL, p->other, "Blocks in arenas that belong to no object.")			\
	F(list(python_type), types, ALL, ARRAY(p->types, p->ntypes), "Most bytes first.")

FIELDS(python, const struct scan_python *p, PYTHON, "Objects of CPython.");

/* --- all --- */

#define PROBLEM(F) \
	F(address, address, ALL, p->at, "Where.")							\
	F(string, what, ALL, p->what, "What is wrong there.")

FIELDS(problem, const struct scan_problem *p, PROBLEM, "Where the heap is corrupt.");

#define SCAN(F) \
	F(string, source, ALL, r->core ? "core" : "process", "process, or core.")			\
	F(string_or_null, core, ALL, r->core, "The file.")						\
	F(uint, pauses, ALL, r->pauses, "More than one if the first census was not consistent.")	\
	F(object(scan_memory), memory, ALL, &r->memory, "What was read.")				\
	F(object(heap), heap, ALL, &r->heap, "The account of the allocator.")				\
	F(object_or_null(scan_trace), trace, ALL, r->trace.there && !r->trace.instead ? &r->trace : NULL, \
	  "With --with-trace.")										\
	F(object_or_null(python), python, ALL, r->python.version ? &r->python : NULL, \
	  "Objects of CPython; null: there is no interpreter.")						\
	F(list(problem), problems, ALL, ARRAY(r->problems, r->nproblems), \
	  "Where the heap is corrupt.")									\
	F(uint, more_problems, ALL, r->more_problems, "Problems that are not listed.")

FIELDS(scan, const struct scan_report *r, SCAN, "Of a scan: what was read, and the account of the allocator. Its verdicts are in run.");

/* --- pointers to an address --- */

#define BLOCK(F) \
	F(address, address, ALL, b->addr, "Where it begins.")						\
	F(bytes, size, ALL, b->size, "Its size.")							\
	F(word(verdict), verdict, ALL, b->verdict, "Its verdict.")					\
	F(string_or_null, label, ALL, b->label, "What it is: its class, or what allocated it.")

FIELDS(block, const struct scan_block *b, BLOCK, "A block that is pointed to, or that has a pointer.");

static taddr target_of(const struct scan_answer *a)
{
	return a->in_block ? a->block.addr : a->addr;
}

/* What @p points to: a link of a chain, to the block of the one before. */
static taddr pointed_at(const struct field_source *c, const struct scan_pointer *p)
{
	const struct scan_answer *a = c->owner;

	if (p > a->chain.links && p < a->chain.links + a->chain.n)
		return p[-1].block.addr;
	return target_of(a);
}

#define POINTER(F) \
	F(word(place), place, ALL, p->place, "What kind of memory has it.")				\
	F(address, at, ALL, p->at, "Where it is; 0 in a register.")					\
	F(address, value, ALL, p->value, "The pointer.")						\
	F(int, offset, ALL, (int64_t)(p->value - pointed_at(c, p)), \
	  "value less the beginning of what it points to.")						\
	F(object_or_null(block), block, ALL, p->place == SCAN_IN_BLOCK ? &p->block : NULL, \
	  "The block that has it.")									\
	F(int, tid, ALL, p->tid, "Of registers, stacks, TLS: the thread; 0: not known.")		\
	F(string_or_null, register, ALL, p->reg, "Name of the register.")				\
	F(int_or_null, from_sp, ALL, OR_NULL(p->sp_known, p->from_sp), \
	  "On a stack: how far from the stack pointer.")						\
	F(string_or_null, module, ALL, p->module, \
	  "In data: path of the file; null: memory of no file.")					\
	F(address, module_offset, ALL, p->offset, "Address in the module, as in its ELF file.")		\
	F(string_or_null, symbol, ALL, p->symbol, "The variable there.")				\
	F(uint, symbol_offset, ALL, p->symbol_offset, "How far in that.")

FIELDS(pointer, const struct scan_pointer *p, POINTER, "A pointer.");

#define POINTERS_TO(F) \
	F(address, address, ALL, a->addr, "The address that was asked for.")				\
	F(object_or_null(block), block, ALL, a->in_block ? &a->block : NULL, "The block that has it.")	\
	F(string_or_null, where, ALL, a->where, "If it is in no block: what it is in; null: nothing.")	\
	F(uint, total, ALL, a->total, "Pointers that were found.")					\
	F(list(pointer), pointers, ALL, ARRAY(a->pointers, a->n), \
	  "Some of them: those to its beginning first.")						\
	F(list(pointer), chain, ALL, ARRAY(a->chain.links, a->chain.n), \
	  "How it is reached from a root.")								\
	F(bool, chain_has_root, ALL, a->chain.root, "The last link is in no block: it is a root.")	\
	F(bool, chain_is_ring, ALL, a->chain.ring, "No root: only links of the chain point at the last block.")

FIELDS(pointers_to, const struct scan_answer *a, POINTERS_TO, "With --who-points-at: what points to an address.");
