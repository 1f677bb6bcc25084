/* SPDX-License-Identifier: MIT */
/*
 * session_probes: in a watch with a budget, the kernel's probes look for the code that loses blocks, once it is known of
 * which sizes these are (attach/loss/loss_probes.h). Where the user asks for ptrace alone (--engine ptrace), or they
 * cannot be had, the watch goes on without.
 */
#ifndef MM_SESSION_PROBES_H
#define MM_SESSION_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/taddr.h"

struct addrmap;
struct loss;
struct loss_copied;
struct session;

/* The process loses blocks of these usable sizes. false: there are no probes. */
bool session_probes_begin(struct session *s, const uint64_t *sizes, size_t n);

/*
 * Make probes, if it is time. Returns when it is time again. *@copy: copy the process now, and call
 * session_probes_copied.
 */
uint64_t session_probes_turn(struct session *s, uint64_t now_ns, bool *copy);

/* While that copy is prepared. */
void session_probes_meanwhile(struct session *s);

/* It was made, and is searched: then session_probes_found follows. Or it could not be made. */
void session_probes_copied(struct session *s, bool made);

/* What it shows; NULL: that is not known. */
void session_probes_found(struct session *s, const struct loss_copied *copy);

/* All blocks whose content a copy is to show (loss_blocks_each). */
int session_probes_each(const struct session *s, int (*see)(void *ctx, taddr addr, uint64_t size), void *ctx);

/* The watch is over, and the process copied for the last time: the probes are taken out. */
void session_probes_stop(struct session *s);

/* What was lost until the last copy. */
struct session_probes_loss {
	bool found;			/* session_probes_found was called for it already: there is no later one */
	const struct loss *all;		/* since the first copy: by size */
	const struct loss *since;	/* since the probes began: by size */
	uint64_t since_us;		/* so long ago */
	uint64_t at_ns;			/* when it was made */
	const struct addrmap *marks;	/* as in struct loss_copied */
};

/* The sampler gets to know whose it is. */
void session_probes_end(struct session *s, const struct session_probes_loss *lost, uint64_t time_us);

void session_probes_close(struct session *s);

#endif
