/* SPDX-License-Identifier: MIT */
/*
 * answer: the bytes of a helper that a hostile file may have taken over; all that is read lies within what
 * was sent.
 */
#include "symbolize/answer.h"

#include "tests/fuzz/fuzz.h"

static void check_text(const char *s, const char *from, size_t n)
{
	promised(!s || (s >= from && s < from + n && strlen(s) < (size_t)(from + n - s)));
}

static void check(const struct answer *a, const char *from, size_t n)
{
	promised(a->kind < ANSWER_KINDS);
	if (a->kind == ANSWER_NOTE) {
		promised(a->note);
		check_text(a->note, from, n);
	}
	if (a->kind != ANSWER_FRAMES)
		return;
	promised(a->n >= 1 && a->n <= ANSWER_FRAMES_MAX);
	for (size_t i = 0; i < a->n; i++) {
		check_text(a->frames[i].function, from, n);
		check_text(a->frames[i].linkage, from, n);
		check_text(a->frames[i].file, from, n);
		promised(a->frames[i].line >= 0 && a->frames[i].inlined == (i < a->n - 1));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names_frame frames[ANSWER_FRAMES_MAX];
	const char *bytes = (const char *)data;
	struct answer a;

	for (size_t at = 0; at < size;) {
		ssize_t got = answer_read(bytes + at, size - at, frames, &a);

		if (got <= 0)
			break;
		promised((size_t)got <= size - at);
		check(&a, bytes + at, (size_t)got);
		at += (size_t)got;
	}
	return 0;
}
