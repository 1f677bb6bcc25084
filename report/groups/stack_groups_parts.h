/* SPDX-License-Identifier: MIT */
/*
 * stack_groups_parts: what the parts of stack groups have in common; for them alone.
 *
 *	stack_groups.c	from stacks to stack groups
 *	stack_groups_split.c	divides what was counted for a path among its stack groups
 *	stack_groups_table.c	finds stack groups, adds them up, merges those that look the same
 */
#ifndef MM_STACK_GROUPS_PARTS_H
#define MM_STACK_GROUPS_PARTS_H

#include "report/groups/stack_groups.h"

/* The index in of_stack for the blocks of this stack with this verdict. */
size_t stack_groups_slot(const struct stack_groups *ds, uint32_t stack, enum verdict verdict);

/* How many slots a stack has: one for each verdict, and the last one for what is withheld. */
uint32_t stack_groups_columns(const struct stack_groups *ds);
size_t stack_groups_slot_withheld(const struct stack_groups *ds, uint32_t stack);

/* The slot of a live block; *@entry: the suppression by which it is withheld, or SUPPRESSIONS_NONE. */
size_t stack_groups_slot_of_block(const struct stack_groups *ds, taddr addr, const struct live_block *b,
				  size_t *entry);
/* How much of group @i of a merged ledger is withheld, at most all of it. */
struct summary_sum stack_groups_withheld(const struct stack_groups *ds, size_t i);

/* Add @k to @to. */
void stack_groups_add_live(struct stack_live *to, const struct stack_live *k);

/*
 * For paths with several stack groups: set `points`, `own_bytes`, `own_allocs` and `own_frees` of each stack
 * group. Before, they hold the values of the path. 0 or -ENOMEM.
 */
must_check int stack_groups_split(struct stack_groups *ds);

/*
 * The first stack group of @path that may be merged with @twin (NULL: any), or NULL; then @h is the key at which it
 * would be found. If a different stack group has the same hash, the next free key is used.
 */
struct stack_group *stack_groups_look_up(struct stack_groups *ds, const struct path *path, uint32_t skip,
					 const struct stack_group *twin, uint64_t *h);

#endif
