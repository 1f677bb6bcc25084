/* SPDX-License-Identifier: MIT */
/*
 * suppress: a refusal names its line; uses are counted once; and a suppression that is generated for frames
 * with any names is accepted, and matches them.
 */
#include "report/suppress/suppress.h"

#include <errno.h>

#include "tests/fuzz/fuzz.h"

#define FRAMES 4

static struct suppressions *parse(const char *text, size_t n)
{
	char why[120] = "";
	struct suppressions *s;
	int r;

	if (suppressions_new(&s))
		return NULL;
	r = suppressions_parse(s, "f.supp", text, n, why, sizeof(why));
	promised(r == 0 || r == -ENOMEM || (r == -EINVAL && !strncmp(why, "f.supp:", 7)));
	if (r == 0)
		return s;
	suppressions_free(s);
	return NULL;
}

/* The lines of the input are the names. */
static size_t make_frames(char *text, struct summary_frame *frames)
{
	size_t n = 0;

	for (char *line = strtok(text, "\n"); line && n < FRAMES; line = strtok(NULL, "\n"), n++)
		frames[n] = (struct summary_frame){
			.function = n % 2 ? line : NULL, .linkage = n % 3 ? line : NULL, .module = line,
			.file = line, .line = (int)n,
		};
	return n;
}

static void match_all(struct suppressions *s, const struct summary_frame *frames, size_t n)
{
	struct summary to;
	uint64_t hits = 0;

	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
		for (int kind = SUPPRESS_LEAK; kind <= SUPPRESS_FREE; kind++)
			hits += suppressions_match(s, kind, verdict, frames, n, 1, 2);
	summary_init(&to);
	suppressions_report(s, &to);
	promised((hits > 0) == (to.nsuppressions > 0) || summary_error(&to));
	for (size_t i = 0; i < to.nsuppressions; i++)
		hits -= to.suppressions[i].groups;
	promised(hits == 0 || summary_error(&to));
	summary_fini(&to);
}

static void generate(const struct summary_frame *frames, size_t n)
{
	struct strbuf sb = STRBUF_INIT;
	struct suppressions *s;

	suppressions_generate(frames, n, SUPPRESS_LEAK, VERDICT_UNKNOWN, 1, &sb);
	s = parse(strbuf_str(&sb), sb.len);
	promised(s || strbuf_error(&sb));
	if (s && strbuf_str(&sb)[0] == '{')
		promised(suppressions_match(s, SUPPRESS_LEAK, VERDICT_UNKNOWN, frames, n, 1, 1));
	suppressions_free(s);
	strbuf_fini(&sb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = fuzz_text(data, size);
	cleanup_free char *exact = malloc(size ? size : 1);
	struct summary_frame frames[FRAMES];
	struct suppressions *s;
	size_t n;

	if (!text || !exact)
		return 0;
	memcpy(exact, data, size);
	n = make_frames(text, frames);
	s = parse(exact, size);
	if (s)
		match_all(s, frames, n);
	suppressions_free(s);
	generate(frames, n);
	return 0;
}
