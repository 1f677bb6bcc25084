/* SPDX-License-Identifier: MIT */
/*
 * Each string of a scan that the process, its files or a trace may choose, in each format that has a report of
 * a scan: no control character, no line end and no turn of direction reaches it as it is. (For watches, whose
 * strings are all in the trace: tests/test_hostile_strings.py.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/formats.h"
#include "report/model/scan.h"

#define LINE "NEW-LINE"
#define EVIL "\x1b[2J\x1b]0;t\x07 \xc2\x9b" "31m\xc2\x85\r\n" LINE "\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6\xd8\x9c z\x9b" "2J\xff"

static const char *const raw[] = {
	"\x1b", "\x07", "\xc2\x9b", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6", "\xd8\x9c", "\n" LINE,
	"z\x9b", "\xff", NULL
};

static void add_groups(struct summary *s)
{
	struct summary_frame stack[] = {
		{ .pc = 0x55001234, .module = "/usr/" EVIL, .build_id = "b" EVIL, .offset = 0x1234, .function = "f" EVIL,
		  .linkage = "l" EVIL, .file = "/src/" EVIL, .line = 42 },
	};
	taddr samples[] = { 0x55559000 };

	for (int v = 0; v < VERDICT_COUNT; v++) {
		summary_add_group(s, &(struct summary_group){
			.family = "family" EVIL, .blocks = 3, .bytes = 900, .bytes_direct = 900, .verdict = v, .samples = samples,
			.nsamples = 1,
			.kind = { .label = "label" EVIL, .class_name = "class" EVIL, .module = "/lib/" EVIL, .size_low = 24,
				  .size_high = 48, .content = "content" EVIL, .indirect_blocks = v == VERDICT_DEFINITE,
				  .indirect_bytes = 1 } });
		summary_add_group(s, &(struct summary_group){
			.family = "family" EVIL, .tag = "tag" EVIL, .blocks = 4, .bytes = 800, .bytes_direct = 800, .verdict = v,
			.stack = { stack, 1 }, .kind = { .size_low = 200, .size_high = 200 } });
	}
}

static void add_heap(struct scan_report *r, bool known)
{
	r->heap.known = known;
	r->heap.layout = "layout" EVIL;
	r->heap.listed = "listed" EVIL;
	r->heap.other = "other" EVIL;
	scan_add_arena(r, &(struct scan_arena){ .at = 0x7f0000000c60, .allocator = "glibc", .system_bytes = 10 << 20 });
	scan_add_problem(r, 0x5555a000, "problem" EVIL);
	r->summary.run.verdicts.known = known;
	r->summary.run.verdicts.why_not = known ? NULL : "why not" EVIL;
	r->summary.run.verdicts.allocator = "allocator" EVIL;
	r->core = known ? NULL : "/core/" EVIL;
}

static void add_python(struct scan_report *r, bool known)
{
	struct scan_python_type *type;

	r->python.version = "3" EVIL;
	r->python.why_not = known ? NULL : "why not" EVIL;
	r->python.objects = 7;
	type = scan_add_python_type(r);
	assert_non_null(type);
	type->name = "type" EVIL;
	type->objects = 7;
	type->bytes = 700;
	type->holders[0] = (struct scan_python_holder){ "holder" EVIL, 3 };
}

static void add_answers(struct scan_report *r)
{
	static const struct scan_pointer all[] = {
		{ .place = SCAN_IN_BLOCK, .at = 0x55558010, .value = 0x55559000,
		  .block = { 0x55558000, 40, VERDICT_INDIRECT, "block" EVIL } },
		{ .place = SCAN_IN_DATA, .at = 0x55004010, .value = 0x55559000, .module = "/usr/" EVIL, .offset = 0x4010,
		  .symbol = "symbol" EVIL, .symbol_offset = 16 },
	};
	struct scan_answer *a = scan_add_answer(r);

	assert_non_null(a);
	a->addr = 0x55559008;
	a->in_block = true;
	a->block = (struct scan_block){ 0x55559000, 1048, VERDICT_DEFINITE, "block" EVIL };
	a->pointers = malloc(sizeof(all));
	memcpy(a->pointers, all, sizeof(all));
	a->n = a->total = 2;
	a->chain.links = malloc(sizeof(all));
	memcpy(a->chain.links, all, sizeof(all));
	a->chain.n = 2;
	a->chain.root = true;
	a = scan_add_answer(r);
	assert_non_null(a);
	a->addr = 0x1000;
	a->where = "where" EVIL;
}

static void fill(struct scan_report *r, bool known, bool groups)
{
	struct summary *s = &r->summary;

	scan_init(r);
	summary_set_target(s, 1234, "comm" EVIL, "/exe/" EVIL);
	summary_add_arg(s, "arg" EVIL);
	s->run.host = "host" EVIL;
	s->run.frontend = "frontend" EVIL;
	s->run.mode = "mode" EVIL;
	s->filters = "filters" EVIL;
	s->runtime = "runtime" EVIL;
	s->filtered = (struct summary_hidden){ .groups = 1, .blocks = 2, .bytes = 99 };
	summary_add_doubt(s, "doubt" EVIL);
	summary_note(s, "note%s", EVIL);
	summary_add_lost(s, "lost" EVIL, 3);
	summary_add_gap(s, 1, 2, "gap" EVIL);
	s->totals.live_blocks = groups ? 35 : 0;
	if (groups)
		add_groups(s);
	add_heap(r, known);
	add_python(r, known);
	scan_sort(r);
}

static void assert_clean(const struct report_format *f, const struct scan_report *r, bool has_text)
{
	struct strbuf sb = STRBUF_INIT;

	assert_int_equal(f->scan(r, 0, &sb), 0);
	if (has_text && !strstr(strbuf_str(&sb), LINE))
		fail_msg("%s has none of the texts: %s", f->name, strbuf_str(&sb));
	for (const char *const *part = raw; *part; part++)
		if (strstr(strbuf_str(&sb), *part))
			fail_msg("%s has something raw: %s", f->name, strstr(strbuf_str(&sb), *part));
	/* What is left of control characters ends the lines of the format itself. */
	for (size_t i = 0; i < sb.len; i++)
		if ((unsigned char)sb.s[i] < ' ' && !strchr("\n\t", sb.s[i]) && !(sb.s[i] == '\r' && sb.s[i + 1] == '\n'))
			fail_msg("%s has the character %d", f->name, sb.s[i]);
	strbuf_fini(&sb);
}

static void no_string_of_a_scan_is_raw(void **state)
{
	(void)state;
	for (size_t i = 0; report_formats[i]; i++)
		for (int which = 0; which < 8 && report_formats[i]->scan; which++) {
			struct scan_report r;

			fill(&r, which & 1, which & 2);
			if (which & 4)
				add_answers(&r);
			/* CSV is of groups. */
			assert_clean(report_formats[i], &r, strcmp(report_formats[i]->name, "csv") != 0 || which & 2);
			scan_fini(&r);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_string_of_a_scan_is_raw),
	};

	return cmocka_run_group_tests_name("hostile_scan", tests, NULL, NULL);
}
