/* SPDX-License-Identifier: MIT */
/*
 * filemap: a file mapped for reading that nobody promised to leave alone.
 *
 * Gigabytes of a core file are not copied, they are mapped. Whoever cuts the file short meanwhile, or a disk that fails,
 * would kill us with SIGBUS in the middle of any reader. A handler of that signal puts zeros there instead, from the page
 * that failed to the end of the mapping, and filemap_failed says so ever after: readers need not know, and whoever opened
 * the file asks in the end.
 *
 * A file that is written to under us (it keeps its length) can change what is read from one moment to the next: readers take
 * a value once, then check it, then use it.
 *
 * Threads that read must not block SIGBUS.
 */
#ifndef MM_FILEMAP_H
#define MM_FILEMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

/* The first @size bytes of @fd (not needed any more afterwards), at least one. 0; -EMFILE: too many are mapped; -errno of mmap. */
must_check int filemap_open(int fd, size_t size, void **out);
void filemap_close(void *memory, size_t size);

/* Some page of it could not be read. */
bool filemap_failed(const void *memory);

#endif
