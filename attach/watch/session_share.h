/* SPDX-License-Identifier: MIT */
/*
 * session_share: which part of a budget is for samples, while the rest is for the kernel's probes, and for pauses.
 *
 *	samples		all of it at first; a third, while the probes look for the code that loses blocks
 *	pauses		what the next one will cost, as far as that is known from the last one, or from what was
 *			expected of it: for ten seconds before it samples leave that, since the promise is of any ten
 *			seconds. A pause that would need all of it is not waited for
 */
#ifndef MM_SESSION_SHARE_H
#define MM_SESSION_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

#define SESSION_SHARE_NS 10500000000ull	/* before a pause: ten seconds, and a little more */

struct session;

struct session_share {
	uint32_t samples_ppm;		/* as the keeper knows it; 0: all */
	uint64_t pause_ns;		/* of thread time, that the next pause will cost; 0: not known */
};

/*
 * The longest pause that costs no more than @room_ns: of threads that sleep it costs a part, which is the larger, the
 * longer it is.
 */
double session_share_longest(struct session *s, double room_ns);

/* A pause of @pause_ns was made, or is expected to be needed. */
void session_share_learn(struct session *s, uint64_t pause_ns);

/* Does the keeper know the parts as they are now? @pause: there will be one within ten seconds. 0 or -errno. */
must_check int session_share_set(struct session *s, bool pause);

/* The part of the time that is for the kernel's probes, once there are any. */
uint32_t session_share_of_probes(const struct session *s);

/* Do samples leave so much that a pause may take all that is left? */
bool session_share_is_kept(const struct session *s);

#endif
