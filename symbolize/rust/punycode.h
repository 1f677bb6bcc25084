/* SPDX-License-Identifier: MIT */
/* punycode: how Rust writes identifiers that are not ASCII (RFC 3492, with '_' for '-'). */
#ifndef MM_PUNYCODE_H
#define MM_PUNYCODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/*
 * Append the text that the @n characters at @s encode. false, and nothing appended, if they are not of this
 * form.
 */
bool punycode(const char *s, size_t n, struct strbuf *out);

#endif
