/* SPDX-License-Identifier: MIT */
/* utf8: one character by its number. */
#ifndef MM_UTF8_H
#define MM_UTF8_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Append character @c. false, and nothing appended, if no character has this number. */
bool utf8_put(struct strbuf *out, uint32_t c);

#endif
