/* SPDX-License-Identifier: MIT */
/*
 * import: files of mmleak and mtrace from any source. The first byte chooses the format; for mmleak the maps
 * follow behind a line "--". The sums of the result add up.
 */
#include <errno.h>

#include "report/import/importer.h"
#include "tests/fuzz/fuzz.h"

static const char *find_maps(const char *text, const char *end)
{
	const char *found = memmem(text, (size_t)(end - text), "\n--\n", 4);

	return found ? found + 1 : end;
}

static int import(char which, const char *text, const char *end, struct ledger *l)
{
	const char *maps = find_maps(text, end);

	if (which == 't')
		return import_mtrace_text(text, (size_t)(end - text), l);
	return import_mmleak_text(text, (size_t)(maps - text), maps, (size_t)(end - maps), l);
}

/* Blocks and bytes of all stacks add up to those of the ledger. */
static void check(struct ledger *l)
{
	uint32_t family = defs_family(&l->defs, 1), frame;
	uint64_t blocks = 0, bytes = 0;

	promised(l->undefined == 0 && l->nonsense == 0 && l->ended);
	promised(l->held_blocks + l->displaced + l->frees - l->unmatched_frees - l->double_frees == l->allocs);
	for (uint32_t i = 0; i < l->defs.nstacks; i++) {
		const struct place *p = ledger_place(l, family, i);

		promised(defs_path(&l->defs, i, &frame, 1) == 1);
		blocks += p ? p->blocks : 0;
		bytes += p ? p->bytes : 0;
	}
	promised(blocks == l->held_blocks && bytes == l->held_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct ledger l;

	if (text && size) {
		int r = import(text[0], text + 1, text + size, &l);

		promised(r == 0 || r == -EINVAL || r == -ENOMEM);
		if (r == 0)
			check(&l);
		ledger_fini(&l);
	}
	free(text);
	return 0;
}
