/* SPDX-License-Identifier: MIT */
/* many_line: the line of status of several watches: how many there are, and what they have seen. */
#ifndef MM_MANY_LINE_H
#define MM_MANY_LINE_H

#include <stdint.h>

struct members;

/* @seconds: since the beginning; @duration_ns: of the watch, 0: until it is ended. */
void many_line_show(const struct members *m, double seconds, uint64_t duration_ns);

/* How many are left, while they end. */
void many_line_leaving(const struct members *m);

#endif
