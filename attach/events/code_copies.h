/* SPDX-License-Identifier: MIT */
/*
 * code_copies: how much of a process's code is no longer that of its files: pages that the kernel has copied
 * since something was written into them, as a trap. They stay copied when it is taken out, and count as
 * anonymous memory: what a watch adds is no growth of the program.
 */
#ifndef MM_CODE_COPIES_H
#define MM_CODE_COPIES_H

#include <stdint.h>
#include <sys/types.h>

/* Bytes; @maps: the text of /proc/PID/maps. 0 if it cannot be read: this is a figure of the report only. */
uint64_t code_copies(pid_t pid, const char *maps);

#endif
