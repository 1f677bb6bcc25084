/* SPDX-License-Identifier: MIT */
/* protobuf: see protobuf.h. */
#include "report/pprof/protobuf.h"

#define WIRE_VARINT 0u
#define WIRE_BYTES 2u

void protobuf_varint(struct strbuf *sb, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		strbuf_putc(sb, (char)(value | 0x80));
	strbuf_putc(sb, (char)value);
}

void protobuf_uint(struct strbuf *sb, unsigned field, uint64_t value)
{
	if (!value)
		return;
	protobuf_varint(sb, field << 3 | WIRE_VARINT);
	protobuf_varint(sb, value);
}

void protobuf_int(struct strbuf *sb, unsigned field, int64_t value)
{
	protobuf_uint(sb, field, (uint64_t)value);
}

void protobuf_bytes(struct strbuf *sb, unsigned field, const void *data, size_t n)
{
	protobuf_varint(sb, field << 3 | WIRE_BYTES);
	protobuf_varint(sb, n);
	strbuf_append(sb, data, n);
}

void protobuf_message(struct strbuf *sb, unsigned field, struct strbuf *message)
{
	if (message->err && !sb->err)
		sb->err = message->err;
	protobuf_bytes(sb, field, strbuf_str(message), message->len);
	strbuf_reset(message);
}
