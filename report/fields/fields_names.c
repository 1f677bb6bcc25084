/* SPDX-License-Identifier: MIT */
/* The words that members have: the names of enumerations. */
#include "report/fields/parts.h"
#include "report/fields/table.h"

#include "report/diff/diff.h"
#include "report/model/scan.h"
#include "report/model/unknown_reason.h"

WORDS(verdict, verdict_name, VERDICT_COUNT);
WORDS(stack_end, summary_stack_end_name, STACK_END_COUNT);
WORDS(shape, growth_name, GROWTH_COUNT);
WORDS(turnover, survival_name, SURVIVAL_KIND_COUNT);
WORDS(section, summary_section_name, SUMMARY_HELD + 1);
WORDS(unknown, unknown_name, UNKNOWN_COUNT);
WORDS(change, diff_change_name, DIFF_CHANGE_COUNT);
WORDS(place, scan_place_name, SCAN_IN_ALLOCATOR + 1);
