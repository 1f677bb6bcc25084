/* SPDX-License-Identifier: MIT */
/*
 * thread_tls: where the TLS of each thread of a process is, while all of them run. Registers can be read of
 * a stopped thread only. But the C library registers a list of locks with the kernel (set_robust_list),
 * whose head is in the thread's struct pthread, at a place that has been the same in glibc on x86-64 since
 * 2.4; and that struct begins with its own address.
 */
#ifndef MM_THREAD_TLS_H
#define MM_THREAD_TLS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/taddr.h"

/*
 * The addresses of the threads' struct pthread (what their fs points to), the caller's to free; threads
 * that have none are left out. 0; -ENOMEM; -ESRCH; -EPERM.
 */
must_check int thread_tls_list(pid_t pid, taddr **out, size_t *n);

#endif
