/* SPDX-License-Identifier: MIT */
/* metering_parts: what metering.c and metering_wishes.c share, and nobody else needs. metered_*: of one site. */
#ifndef MM_METERING_PARTS_H
#define MM_METERING_PARTS_H

#include "attach/keeper/state.h"

bool metering_may_plant(const struct keeper *k);

struct metered *metered_at(struct keeper *k, uint32_t i);

/* The controller's wishes, as they are now. Period 0: it shall stand always. */
uint64_t metered_period_ns(const struct keeper *k, uint32_t i);
bool metered_goes_ahead(const struct keeper *k, uint32_t i);

/* Its round begins now; where it stands is not changed. */
void metered_begin_round(struct keeper *k, uint32_t i);

/* It stands from now on, with the state that belongs to it; or waits, if it cannot. */
void metered_plant(struct keeper *k, uint32_t i);

/* Lifted already: its turn comes then. */
void metered_wait_until(struct keeper *k, uint32_t i, uint64_t at_ns);

/* It is not metered any more: it stands always, or is gone. */
void metered_release(struct keeper *k, uint32_t i);

#endif
