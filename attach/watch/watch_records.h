/* SPDX-License-Identifier: MIT */
/*
 * watch_records: what each kind of record means for the watch, and what the thread that waits for it is told. Who reads them, and when,
 * is watch.c's.
 */
#ifndef MM_WATCH_RECORDS_H
#define MM_WATCH_RECORDS_H

#include <stdbool.h>

struct record;
struct watch;

/* The next record. If it ends the watch, w->end says so. */
void watch_record(struct watch *w, const struct record *rec);

/* The dynamic linker says that modules come or go. New ones are watched before their code runs. false: nobody knows which are gone. */
bool watch_modules(struct watch *w);

#endif
