/* SPDX-License-Identifier: MIT */
/*
 * metering_parts: what metering.c and metering_wishes.c share, and no other file needs. metered_*: of one
 * site.
 */
#ifndef MM_METERING_PARTS_H
#define MM_METERING_PARTS_H

#include "attach/keeper/state.h"

bool metering_may_plant(const struct keeper *k);

struct metered *metered_at(struct keeper *k, uint32_t i);

/* The controller's settings, as they are now. Period 0: always planted. */
uint64_t metered_period_ns(const struct keeper *k, uint32_t i);
bool metered_goes_ahead(const struct keeper *k, uint32_t i);

/* Its round begins now; whether it is planted does not change. */
void metered_begin_round(struct keeper *k, uint32_t i);

/* It is planted from now on, and its state is set; or it waits, if it cannot be planted. */
void metered_plant(struct keeper *k, uint32_t i);

/* It is lifted already, and due at @at_ns. */
void metered_wait_until(struct keeper *k, uint32_t i, uint64_t at_ns);

/* It is not metered any more: it is always planted, or gone. */
void metered_release(struct keeper *k, uint32_t i);

#endif
