/* SPDX-License-Identifier: MIT */
/* duration: what is accepted is written out as something that is accepted, and not longer than what was meant. */
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
	promised(ns == 0 || again >= ns / 2);	/* only what is small beside the first unit is cut off */
	return 0;
}
