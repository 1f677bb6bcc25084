/* SPDX-License-Identifier: MIT */
/* scan_content: what the blocks of a scan are: C++ objects of which class; and else what seems to be in them. */
#ifndef MM_SCAN_CONTENT_H
#define MM_SCAN_CONTENT_H

#include "attach/scan_parts.h"

#define SCAN_NO_CLASS UINT32_MAX

/* Find the classes of all blocks. 0 or -ENOMEM. */
must_check int scan_classify(struct scan *sc);
void scan_classes_free(struct scan *sc);

/* The class of block number @block, or SCAN_NO_CLASS. */
uint32_t scan_class_of(const struct scan *sc, size_t block);

/* What it is called; and the path of its file in @module, or NULL there. */
const char *scan_class_name(const struct scan *sc, uint32_t class, const char **module);

/* What these blocks hold, as it seems; nothing if nothing can be said. */
void scan_content(const struct scan *sc, const size_t *blocks, size_t n, struct strbuf *out);

#endif
