/* SPDX-License-Identifier: MIT */
/*
 * corefacts [--back | --classes] [--exe=FILE] CORE [ADDR LENGTH]...: what heap/snapshot/core.h makes of a
 * core file, as JSON, and the bytes at those addresses: hexadecimal, or why there are none. --back: also read
 * the mapped files (heap/snapshot/backing.h); --exe: the program's file is FILE. --classes: the same as
 * --back, and each of those ranges is a block: print its class (heap/classify/classify.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "heap/classify/classify.h"
#include "heap/snapshot/backing.h"
#include "heap/snapshot/core.h"

static const char *const kinds[] = { "here", "zero", "file", "missing", "nothing" };

static void put_text(struct strbuf *sb, const char *key, const char *text)
{
	strbuf_printf(sb, ", \"%s\": ", key);
	strbuf_json(sb, text);
}

static void put_maps(struct strbuf *sb, const struct snapshot *s)
{
	strbuf_puts(sb, ", \"maps\": [");
	for (size_t i = 0; i < s->maps.n; i++) {
		const struct mapping *m = &s->maps.maps[i];

		strbuf_printf(sb,
			      "%s{\"lo\": %" PRIu64 ", \"hi\": %" PRIu64
			      ", \"perms\": %u, \"offset\": %" PRIu64 ", \"file\": %d",
			      i ? ", " : "", m->lo, m->hi, m->perms, m->offset, m->ino != 0);
		put_text(sb, "path", m->path);
		strbuf_printf(sb, "}");
	}
	strbuf_puts(sb, "]");
}

static void put_threads(struct strbuf *sb, const struct snapshot *s)
{
	strbuf_puts(sb, ", \"threads\": [");
	for (size_t i = 0; i < s->nthreads; i++) {
		const struct snapshot_thread *t = &s->threads[i];

		strbuf_printf(sb,
			      "%s{\"tid\": %d, \"sp\": %" PRIu64
			      ", \"fs_base\": %llu, \"r12\": %llu, \"vectors\": \"",
			      i ? ", " : "", (int)t->tid, t->sp, t->regs.fs_base, t->regs.r12);
		for (size_t k = 0; k < t->nvectors && k < 512; k++)
			strbuf_printf(sb, "%02x", t->vectors[k]);
		strbuf_puts(sb, "\"}");
	}
	strbuf_puts(sb, "]");
}

static void put_doubts(struct strbuf *sb, const struct core_info *info)
{
	struct strbuf all = STRBUF_INIT;
	size_t n = core_doubts(info, &all);
	const char *text = strbuf_str(&all);

	strbuf_puts(sb, ", \"doubts\": [");
	for (size_t i = 0; i < n; i++, text += strlen(text) + 1) {
		strbuf_puts(sb, i ? ", " : "");
		strbuf_json(sb, text);
	}
	strbuf_puts(sb, "]");
	strbuf_fini(&all);
}

/* The class of each block ADDR LENGTH. */
static void put_classes(struct strbuf *sb, const struct snapshot *s, const struct backing *b, char **argv)
{
	struct classify *c;
	uint32_t *found;
	size_t n = 0;

	while (argv[n])
		n++;
	found = calloc(n + 1, sizeof(*found));
	if (!found || classify_new(s, b, &c))
		exit(1);
	for (size_t i = 0; i + 1 < n; i += 2) {
		if (classify_block(c, strtoull(argv[i], NULL, 0), strtoull(argv[i + 1], NULL, 0), &found[i]))
			exit(1);
	}
	if (classify_names(c))
		exit(1);
	strbuf_puts(sb, ", \"classes\": [");
	for (size_t i = 0; i + 1 < n; i += 2) {
		strbuf_puts(sb, i ? ", " : "");
		strbuf_json(sb, classify_name(c, found[i]));
	}
	strbuf_puts(sb, "]");
	classify_free(c);
	free(found);
}

static void put_backing(struct strbuf *sb, struct snapshot *s, const struct core_info *info, const char *exe,
			char **blocks)
{
	struct backing_names names = { info->exe, exe };
	struct backing b;

	if (backing_add(s, backing_open_name, &names, &b))
		exit(1);
	strbuf_puts(sb, ", \"backing\": [");
	for (size_t i = 0; i < b.n; i++) {
		strbuf_printf(sb, "%s{\"proof\": %d", i ? ", " : "", (int)b.files[i].proof);
		put_text(sb, "path", b.files[i].path);
		put_text(sb, "why", b.files[i].why);
		strbuf_puts(sb, "}");
	}
	strbuf_puts(sb, "]");
	if (blocks)
		put_classes(sb, s, &b, blocks);
	backing_fini(&b);
}

static void put_bytes(struct strbuf *sb, const struct snapshot *s, taddr at, size_t n)
{
	uint8_t *bytes = malloc(n + 1);

	if (!bytes || snapshot_read(s, at, bytes, n) < 0) {
		strbuf_json(sb, kinds[snapshot_kind_at(s, at)]);
	} else {
		strbuf_putc(sb, '"');
		for (size_t i = 0; i < n; i++)
			strbuf_printf(sb, "%02x", bytes[i]);
		strbuf_putc(sb, '"');
	}
	free(bytes);
}

int main(int argc, char **argv)
{
	struct strbuf sb = STRBUF_INIT;
	struct core_info info;
	struct snapshot s;
	const char *exe = NULL;
	bool back = false, classes = false;
	int err;

	for (; argc > 1 && !strncmp(argv[1], "--", 2); argv++, argc--) {
		back = true;
		classes = classes || !strcmp(argv[1], "--classes");
		exe = strncmp(argv[1], "--exe=", 6) ? exe : argv[1] + 6;
	}
	if (argc < 2)
		return 2;
	err = core_open(argv[1], &s, &info);
	strbuf_printf(&sb,
		      "{\"error\": %d, \"size\": %" PRIu64 ", \"whole\": %" PRIu64 ", \"bytes\": %" PRIu64
		      ", \"missing\": %" PRIu64 ", \"left_out\": %" PRIu64 ", \"cut\": %" PRIu64
		      ", \"damaged\": %u, \"signal\": %d, \"fault\": %" PRIu64
		      ", \"copied\": %d, \"pid\": %d",
		      err, info.size, info.whole, s.bytes, s.missing, info.left_out, info.cut, info.damaged,
		      info.signal, info.fault, info.copied, (int)s.pid);
	put_text(&sb, "why", info.why);
	put_text(&sb, "what_to_do", info.what_to_do);
	put_text(&sb, "comm", s.comm);
	put_text(&sb, "exe", info.exe);
	put_maps(&sb, &s);
	put_threads(&sb, &s);
	put_doubts(&sb, &info);
	if (back && !err)
		put_backing(&sb, &s, &info, exe, classes ? argv + 2 : NULL);
	strbuf_puts(&sb, ", \"reads\": [");
	for (int i = 2; i + 1 < argc; i += 2) {
		strbuf_puts(&sb, i > 2 ? ", " : "");
		put_bytes(&sb, &s, strtoull(argv[i], NULL, 0), strtoull(argv[i + 1], NULL, 0));
	}
	strbuf_puts(&sb, "]}\n");
	fputs(strbuf_str(&sb), stdout);
	strbuf_fini(&sb);
	snapshot_fini(&s);
	return 0;
}
