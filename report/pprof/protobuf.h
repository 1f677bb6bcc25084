/* SPDX-License-Identifier: MIT */
/*
 * protobuf: appends fields of Protocol Buffers messages. A message within a message is built in a strbuf of its
 * own, and then appended as bytes.
 */
#ifndef MM_PROTOBUF_H
#define MM_PROTOBUF_H

#include <stdint.h>

#include "base/strbuf.h"

void protobuf_varint(struct strbuf *sb, uint64_t value);

/* Fields. The value 0 is what a reader takes for one that is missing, so it is not written. */
void protobuf_uint(struct strbuf *sb, unsigned field, uint64_t value);
void protobuf_int(struct strbuf *sb, unsigned field, int64_t value);
void protobuf_bytes(struct strbuf *sb, unsigned field, const void *data, size_t n);
/* What was appended to @message, which is empty afterwards. */
void protobuf_message(struct strbuf *sb, unsigned field, struct strbuf *message);

#endif
