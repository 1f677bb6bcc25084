/* SPDX-License-Identifier: MIT */
#include "base/character.h"

static bool continues(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t character_read(const unsigned char *s, uint32_t *code)
{
	if (s[0] < 0x80) {
		*code = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf && continues(s[1])) {
		*code = (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
		return 2;
	}
	if (s[0] >= 0xe0 && s[0] <= 0xef && continues(s[1]) && continues(s[2])) {
		*code = (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
		return *code >= 0x800 && (*code < 0xd800 || *code > 0xdfff) ? 3 : 0;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4 && continues(s[1]) && continues(s[2]) && continues(s[3])) {
		*code = (s[0] & 7u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
		return *code >= 0x10000 && *code <= 0x10ffff ? 4 : 0;
	}
	return 0;
}

bool character_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
	       (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x2069) || code == 0xfeff;
}
