/* SPDX-License-Identifier: MIT */
/*
 * mirror_room: memory to copy a process into, populated beforehand, and how fast it fills. Whether there is
 * enough memory was checked before (room.h).
 */
#ifndef MM_MIRROR_ROOM_H
#define MM_MIRROR_ROOM_H

#include <stdint.h>

#define MIRROR_ROOM_PAGE (2u << 20)

/* Processor time of this thread: the time that other threads run meanwhile does not count. */
uint64_t mirror_spent_ns(void);

/*
 * Map @bytes, a multiple of MIRROR_ROOM_PAGE, populated with large pages if there are any; free with munmap.
 * NULL: there is not so much memory. If memory runs out nevertheless, we, and not the target, should be
 * killed for it: from now on we offer ourselves to the out-of-memory killer. @reserve: so many bytes after
 * them are mapped, too, but not populated, so that memory that has grown meanwhile still fits, slowly; set to
 * 0 if there are no addresses for them.
 */
uint8_t *mirror_room_make(uint64_t bytes, uint64_t *reserve);

/* Bytes per second at which one thread will fill it, tried on our own memory. */
double mirror_room_speed(uint8_t *room, uint64_t bytes);

#endif
