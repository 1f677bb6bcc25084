/* SPDX-License-Identifier: MIT */
/* mirror_room: memory to copy a process into: made ready beforehand, and how fast it fills. Whether there is so much was asked before (room.h). */
#ifndef MM_MIRROR_ROOM_H
#define MM_MIRROR_ROOM_H

#include <stdint.h>

#define MIRROR_ROOM_PAGE (2u << 20)

/* Processor time of this thread: what others take from us meanwhile says nothing. */
uint64_t mirror_spent_ns(void);

/*
 * @bytes, a multiple of MIRROR_ROOM_PAGE, populated by large pages where there are any; munmap. NULL: there are not so many. Should memory run out all
 * the same, we are to be the one that is killed for it, and not the target: from now on we offer ourselves.
 * @reserve: so many bytes behind them are mapped, too, and not populated, so that what has outgrown its room meanwhile still fits, slowly; 0 then,
 * if there are no addresses for them.
 */
uint8_t *mirror_room_make(uint64_t bytes, uint64_t *reserve);

/* Bytes per second at which one thread will fill it, tried on our own memory. */
double mirror_room_speed(uint8_t *room, uint64_t bytes);

#endif
