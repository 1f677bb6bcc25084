/* SPDX-License-Identifier: MIT */
#include "attach/stacks/python/layouts.h"

#include <stddef.h>

static const struct layout layouts[] = {
	{
		.version = 0x0309, .entry = LAYOUTS_ENTRY_EACH, .lines = LAYOUTS_LINES_LNOTAB, .unit = 1,
		.interpreters = 32, .next_interpreter = 0, .threads = 8, .next_thread = 8,
		.chain = { .owner = 176, .head = 24, .head_of = CHAIN_DIRECT, .next = 24, .code = 32,
			   .at = 104, .kind = 112, .link_bytes = 114 },
		.code = { .first_line = 40, .filename = 104, .name = 112, .lines = 120, .size = 128 },
		.ascii = 48, .compact = 72,
	},
	{
		.version = 0x030a, .entry = LAYOUTS_ENTRY_EACH, .lines = LAYOUTS_LINES_RANGES, .unit = 2,
		.interpreters = 32, .next_interpreter = 0, .threads = 8, .next_thread = 8,
		.chain = { .owner = 176, .head = 24, .head_of = CHAIN_DIRECT, .next = 24, .code = 32,
			   .at = 96, .kind = 104, .link_bytes = 106 },
		.code = { .first_line = 40, .filename = 104, .name = 112, .lines = 120, .size = 128 },
		.ascii = 48, .compact = 72,
	},
	{
		.version = 0x030b, .entry = LAYOUTS_ENTRY_FLAG, .lines = LAYOUTS_LINES_LOCATIONS,
		.interpreters = 40, .next_interpreter = 0, .threads = 16, .next_thread = 8,
		.chain = { .owner = 152, .head = 56, .head_of = 8, .next = 48, .code = 32, .at = 56,
			   .kind = 68, .link_bytes = 70 },
		.outer_entry = 16,
		.code = { .first_line = 72, .filename = 112, .name = 128, .lines = 136, .bytecode = 184,
			  .first_traceable = 168, .size = 184 },
		.ascii = 48, .compact = 72,
	},
	{
		.version = 0x030c, .entry = LAYOUTS_ENTRY_SHIM, .lines = LAYOUTS_LINES_LOCATIONS,
		.interpreters = 40, .next_interpreter = 0, .threads = 72, .next_thread = 8,
		.chain = { .owner = 136, .head = 56, .head_of = 0, .next = 8, .code = 0, .at = 56, .kind = 70,
			   .link_bytes = 72 },
		.code = { .first_line = 68, .filename = 112, .name = 128, .lines = 136, .bytecode = 192,
			  .first_traceable = 176, .size = 192 },
		.ascii = 40, .compact = 56,
	},
	{
		.version = 0x030d, .describes_itself = true, .entry = LAYOUTS_ENTRY_SHIM,
		.lines = LAYOUTS_LINES_LOCATIONS,
		.chain = { .head_of = CHAIN_DIRECT, .kind = 70 },
		.code = { .bytecode = 200, .first_traceable = 184, .size = 200 },
		.ascii = 40, .compact = 56,
	},
};

const struct layout *layouts_find(uint16_t version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}
