/* SPDX-License-Identifier: MIT */
/*
 * filemap: a file mapped for reading that may change meanwhile.
 *
 * Gigabytes of a core file are not copied but mapped. If the file is truncated meanwhile, or a disk fails,
 * any reader would die of SIGBUS. Instead, a handler of that signal maps zeros, from the page that failed to
 * the end of the mapping, and filemap_failed is true from then on. Readers need not know that; the code that
 * opened the file asks at the end.
 *
 * If the file is written to without a change of length, a value can change from one read to the next: readers
 * copy a value once, then check it, then use it.
 *
 * Threads that read must not block SIGBUS.
 */
#ifndef MM_FILEMAP_H
#define MM_FILEMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

/*
 * The first @size bytes of @fd, at least one; @fd may be closed afterwards. 0; -EMFILE: too many are mapped;
 * -errno of mmap.
 */
must_check int filemap_open(int fd, size_t size, void **out);
void filemap_close(void *memory, size_t size);

/* Could a page of it not be read? */
bool filemap_failed(const void *memory);

#endif
