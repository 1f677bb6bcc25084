/* SPDX-License-Identifier: MIT */
/*
 * engine_choice: is there a function that allocates, and of which ptrace sees the end and the kernel's probes do not?
 *
 * The kernel's probes may be refused a function: an exit of it is not known, and a return probe would not be safe
 * (probes/return_probe.h), as with the malloc of tcmalloc's full library. A watch by them would see its frees alone,
 * so --engine auto goes by ptrace then. What is asked for is planned for both; nothing is touched.
 */
#ifndef MM_ENGINE_CHOICE_H
#define MM_ENGINE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/probes/plan.h"
#include "base/cleanup.h"

struct modules;
struct ruleset;

/*
 * 1: there is; @why says which one, and the reason. 0: there is none; -errno. @options: as for the kernel's probes.
 * @mem: /proc/PID/mem. The modules are read.
 */
must_check int engine_choice_sees_less(const struct modules *ms, const struct ruleset *rules,
				       const struct plan_options *options, int mem, char *why, size_t n);

#endif
