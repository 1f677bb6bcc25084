/* SPDX-License-Identifier: MIT */
/*
 * watch_records: handles the records of the ring, by their kinds, and releases threads that are held. When
 * records are read is decided in watch.c.
 */
#ifndef MM_WATCH_RECORDS_H
#define MM_WATCH_RECORDS_H

#include <stdbool.h>

struct record;
struct watch;

/* Handle the next record. If it ends the watch, w->end is set. */
void watch_record(struct watch *w, const struct record *rec);

/*
 * The dynamic linker has reported that modules are loaded or unloaded. Plant traps in the new ones. false: it
 * is not known which are gone.
 */
bool watch_modules(struct watch *w);

#endif
