/* SPDX-License-Identifier: MIT */
/*
 * rotate_names: the names of the files of a run that is written in pieces: svc.0001.mmt, svc.0002.mmt, ...
 * for svc.mmt.
 */
#ifndef MM_ROTATE_NAMES_H
#define MM_ROTATE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

/* The name of piece number @piece (from 1) of @path, to be freed. 0 or -ENOMEM. */
must_check int rotate_name(const char *path, uint32_t piece, char **out);

/*
 * Find the first piece of @path that exists already, of the first ten thousand; *@piece is 0 if there is
 * none. A file of any type counts. 0 or -ENOMEM.
 */
must_check int rotate_first_present(const char *path, uint32_t *piece);

/*
 * The name of the piece that comes @by pieces after the one called @path, to be freed. 0; -EINVAL: @path is not
 * called as pieces are; -ENOMEM.
 */
must_check int rotate_later(const char *path, uint32_t by, char **out);

/* Can there be pieces beside @path? Not if there is a device, a FIFO or a folder. */
bool rotate_possible(const char *path);

#endif
