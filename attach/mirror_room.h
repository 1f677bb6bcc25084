/* SPDX-License-Identifier: MIT */
/* mirror_room: memory to copy a process into: is there so much to spare, made ready beforehand, how fast it fills. */
#ifndef MM_MIRROR_ROOM_H
#define MM_MIRROR_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#define MIRROR_ROOM_PAGE (2u << 20)

/* Processor time of this thread: what others take from us meanwhile says nothing. */
uint64_t mirror_spent_ns(void);

/*
 * Has the machine, and our control group, @bytes that nobody misses? A heap that is copied is there twice. Were memory to run out by that, the kernel would look for the
 * largest process to kill, and that is the target. So it is asked first; and if that was wrong, we are to be the one: from now on we offer ourselves.
 */
bool mirror_room_spared(uint64_t bytes);

/* @bytes, a multiple of MIRROR_ROOM_PAGE, populated by large pages where there are any; munmap. NULL: there are not so many. */
uint8_t *mirror_room_make(uint64_t bytes);

/* Bytes per second at which one thread will fill it, tried on our own memory. */
double mirror_room_speed(uint8_t *room, uint64_t bytes);

#endif
