/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/rblayouts.h"

#include <stddef.h>

static const struct rb_layout layouts[] = {
	{
		.version = 0x0301,
		.chain = { .owner = CHAIN_DIRECT, .head = 16, .head_of = CHAIN_DIRECT, .code = 16, .at = 0,
			   .kind = 6, .link_bytes = 40, .stride = 64, .array = 0, .aside = 32 },
		.thread_id = 80, .execution = 40,
		.body = { .path = 64, .label = 80, .lines = 120, .nlines = 136, .index = 144, .size = 152 },
	},
	{
		.version = 0x0303,
		.chain = { .owner = CHAIN_DIRECT, .head = 16, .head_of = CHAIN_DIRECT, .code = 16, .at = 0,
			   .kind = 6, .link_bytes = 40, .stride = 56, .array = 0, .aside = 32 },
		.native = 40, .thread_id = 16, .execution = 48,
		.body = { .path = 64, .label = 80, .lines = 112, .nlines = 128, .index = 136, .size = 144 },
		.long_length = true,
	},
};

const struct rb_layout *rb_layouts_find(uint16_t version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}
