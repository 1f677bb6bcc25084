/* SPDX-License-Identifier: MIT */
/*
 * served: for how long threads were stopped, from when a stop was seen until the thread resumes: in sum, and of
 * the thread that was stopped longest. Over many idle threads a sum says little: a service may be many times
 * slower because of one thread.
 */
#ifndef MM_SERVED_H
#define MM_SERVED_H

#include <stdint.h>

struct keeper;
struct tracee;

/* @t, which was stopped or held since @since_ns, resumes now. */
void served_add(struct keeper *k, struct tracee *t, uint64_t since_ns);

#endif
