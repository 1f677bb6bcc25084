/* SPDX-License-Identifier: MIT */
/*
 * budget: what the keeper keeps for a budget: what stops cost (cost.h), and the traps that stand as that allows (metering.h).
 */
#ifndef MM_BUDGET_H
#define MM_BUDGET_H

#include "attach/keeper/budget/cost.h"
#include "attach/keeper/budget/metering.h"

struct budget {
	struct cost cost;
	struct metering metering;
};

#endif
