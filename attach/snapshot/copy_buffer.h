/* SPDX-License-Identifier: MIT */
/*
 * copy_buffer: memory to copy a process into, populated beforehand, and how fast it fills. Whether there is
 * enough memory was checked before (memory_limit.h).
 */
#ifndef MM_COPY_BUFFER_H
#define MM_COPY_BUFFER_H

#include <stdint.h>

#define COPY_BUFFER_PAGE (2u << 20)

/* Processor time of this thread: the time that other threads run meanwhile does not count. */
uint64_t copy_buffer_spent_ns(void);

/*
 * Map @bytes, a multiple of COPY_BUFFER_PAGE, populated with large pages if there are any; free with munmap.
 * NULL: there is not so much memory. If memory runs out later, this process should be killed, and not the
 * target: from now on its oom_score_adj is 1000. *@reserve: so many bytes after them are mapped, too, but not
 * populated: if the target has grown meanwhile, the rest fits there, and is copied more slowly; set to 0 if
 * there are no addresses for them.
 */
uint8_t *copy_buffer_make(uint64_t bytes, uint64_t *reserve);

/* Bytes per second at which one thread will fill it, measured on our own memory. */
double copy_buffer_speed(uint8_t *room, uint64_t bytes);

#endif
