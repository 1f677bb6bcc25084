/* SPDX-License-Identifier: MIT */
/* scan_content: what the blocks of a scan are: the class of C++ objects; else what they seem to contain. */
#ifndef MM_SCAN_CONTENT_H
#define MM_SCAN_CONTENT_H

#include "attach/scan/scan_parts.h"

/* Find the classes of all blocks. 0 or -ENOMEM. */
must_check int scan_classify(struct scan *sc);
void scan_classes_free(struct scan *sc);

/* The class of block number @block, or CLASS_NONE. */
uint32_t scan_class_of(const struct scan *sc, size_t block);

#define SCAN_SAMPLES 8

/* Describe what these blocks, at most SCAN_SAMPLES, seem to contain; nothing if that is not clear. */
void scan_content(const struct scan *sc, const size_t *blocks, size_t n, struct strbuf *out);

#endif
