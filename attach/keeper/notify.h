/* SPDX-License-Identifier: MIT */
/*
 * notify: what the keeper reports to the controller: records in the ring, and the doorbell (an eventfd) to
 * have them read.
 */
#ifndef MM_NOTIFY_H
#define MM_NOTIFY_H

#include "attach/keeper/state.h"

/* Ring the doorbell, whether the controller sleeps or not: a command is answered. */
void notify_ring(const struct keeper *k);

/* Ask for the controller's attention if it sleeps or the ring fills. */
void notify_bell(struct keeper *k);

/*
 * A thread waits for the controller: ring also if the controller does not sleep, since it reads the ring only
 * now and then.
 */
void notify_for_held(struct keeper *k);

/* A record without a payload. If there is no space for it, it is counted as dropped. */
void notify_record(struct keeper *k, enum record_kind kind, uint16_t flags, pid_t tid, uint32_t site,
		   int64_t value);

#endif
