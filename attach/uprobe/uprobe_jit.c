/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_jit.h"

#include <bpf/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define MOVABS_BYTES 10u
#define ADD_BYTES 8u

bool uprobe_jit_code_shares_stack(const unsigned char *code, size_t n)
{
	static const unsigned char movabs[] = { 0x49, 0xb9 }, add[] = { 0x65, 0x4c, 0x03 };

	for (size_t i = 0; i + MOVABS_BYTES + ADD_BYTES <= n; i++) {
		const unsigned char *next = code + i + MOVABS_BYTES;

		if (!memcmp(code + i, movabs, sizeof(movabs)) && !memcmp(next, add, sizeof(add)) &&
		    (next[3] == 0x0d || (next[3] == 0x0c && next[4] == 0x25)))
			return true;
	}
	return false;
}

bool uprobe_jit_shares_stack(int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info), n;
	cleanup_free unsigned char *code = NULL;

	if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return false;
	n = info.jited_prog_len;
	code = calloc(1, n + 1);
	if (!code)
		return false;
	info = (struct bpf_prog_info){ .jited_prog_insns = (uintptr_t)code, .jited_prog_len = n };
	size = sizeof(info);
	return bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && uprobe_jit_code_shares_stack(code, n);
}
