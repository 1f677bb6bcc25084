/* SPDX-License-Identifier: MIT */
/* size: numbers of bytes as people write them: 4096, 64K, 100M, 2G. K is 1024. */
#ifndef MM_SIZE_H
#define MM_SIZE_H

#include <stdint.h>

#include "base/cleanup.h"

/* 0 or -EINVAL: it is no size, or does not fit. "KiB" and "KB" mean K, small letters too. */
must_check int size_parse(const char *text, uint64_t *bytes);

#endif
