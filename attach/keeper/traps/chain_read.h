/* SPDX-License-Identifier: MIT */
/*
 * chain_read: the chain of a stopped thread (shared/chain.h), into the record of its hit. The word that leads to
 * its state, and where state and first link were at the thread's last hit, are read at once, in one system call:
 * mostly they are there again.
 */
#ifndef MM_CHAIN_READ_H
#define MM_CHAIN_READ_H

#include "attach/keeper/state.h"

/* A hit begins: is its chain to be read? The controller may ask for it at any time. */
void chain_begin(struct keeper *k);

/* Bytes to reserve behind a slice of @slice bytes. */
uint32_t chain_room(const struct keeper *k, uint32_t slice);

/*
 * @rec has registers and its slice, and chain_room() behind it: fills the links, chain_len, chain_end,
 * chain_head.
 */
void chain_read(struct keeper *k, struct tracee *t, struct record_hit *rec);

#endif
