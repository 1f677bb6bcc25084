/* SPDX-License-Identifier: MIT */
/*
 * watch_records: what each kind of record means for the watch, and the answer to a thread that waits for one.
 * When they are read is decided in watch.c.
 */
#ifndef MM_WATCH_RECORDS_H
#define MM_WATCH_RECORDS_H

#include <stdbool.h>

struct record;
struct watch;

/* Handle the next record. If it ends the watch, w->end says so. */
void watch_record(struct watch *w, const struct record *rec);

/*
 * The dynamic linker has reported that modules come or go. New ones are watched before their code runs.
 * false: it is unknown which are gone.
 */
bool watch_modules(struct watch *w);

#endif
