/* SPDX-License-Identifier: MIT */
/* utf8: see utf8.h. */
#include "symbolize/rust/utf8.h"

bool utf8_put(struct strbuf *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return false;
	if (c < 0x80) {
		strbuf_putc(out, (char)c);
		return true;
	}
	if (c >= 0x10000) {
		strbuf_putc(out, (char)(0xf0 | c >> 18));
		strbuf_putc(out, (char)(0x80 | (c >> 12 & 0x3f)));
	} else if (c >= 0x800) {
		strbuf_putc(out, (char)(0xe0 | c >> 12));
	}
	strbuf_putc(out, (char)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6));
	strbuf_putc(out, (char)(0x80 | (c & 0x3f)));
	return true;
}
