/* SPDX-License-Identifier: MIT */
/* target_ended: had the process ended when its watch did? Then no command can look at it any more. */
#ifndef MM_TARGET_ENDED_H
#define MM_TARGET_ENDED_H

#include <stdbool.h>

#include "report/model/summary.h"

bool target_ended(const struct summary *s);

#endif
