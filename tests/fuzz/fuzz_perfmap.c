/* SPDX-License-Identifier: MIT */
/* perfmap: a file that the target wrote; ranges are valid, sorted, do not overlap, and are found again. */
#include "symbolize/perfmap.h"

#include "tests/fuzz/fuzz.h"

static void check_found(const struct perfmap *m, taddr addr, size_t size)
{
	const char *name = perfmap_find(m, addr);

	promised(!name || (*name && strlen(name) <= size));
}

/* The numbers in the lines are where ranges begin or end. */
static void look_at_numbers(const struct perfmap *m, const char *text, size_t size)
{
	const char *p = text;

	for (int i = 0; i < 64; i++) {
		taddr addr = strtoull(p, NULL, 16);

		check_found(m, addr - 1, size);
		check_found(m, addr, size);
		p = strchr(p, '\n');
		if (!p)
			break;
		p++;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *own = fuzz_text(data, size);
	struct perfmap m;

	if (!text || !own || perfmap_parse(own, size, &m)) {
		free(text);
		return 0;
	}
	look_at_numbers(&m, text, size);
	check_found(&m, 0, size);
	check_found(&m, UINT64_MAX, size);
	promised(m.n <= size);
	perfmap_fini(&m);
	free(text);
	return 0;
}
