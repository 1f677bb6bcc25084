/* SPDX-License-Identifier: MIT */
/* duration: what is accepted is formatted as text that is accepted too, and means no longer time. */
#include "base/duration.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = fuzz_text(data, size);
	char shown[DURATION_TEXT];
	uint64_t ns, again;

	if (!text || duration_parse(text, &ns))
		return 0;
	promised(ns <= INT64_MAX);
	promised(strlen(duration_format(ns, shown, sizeof(shown))) < sizeof(shown) - 1);
	promised(duration_parse(shown, &again) == 0 && again <= ns);
	/* only parts that are small against the first unit are cut off */
	promised(ns == 0 || again >= ns / 2);
	return 0;
}
