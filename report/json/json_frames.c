/* SPDX-License-Identifier: MIT */
/*
 * json_frames: see json_frames.h. The strings of a pool are each there once, so their addresses identify
 * them.
 */
#include "report/json/json_frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "report/json/json.h"
#include "report/names/sitename.h"

#define DOUBLE_HOLDS ((uint64_t)1 << 53)
#define WHOLE_EACH 64	/* one string in so many is written whatever is before it */

void json_frames_init(struct json_frames *f)
{
	*f = (struct json_frames){ 0 };
	addrmap_init(&f->number_of, sizeof(size_t));
}

void json_frames_fini(struct json_frames *f)
{
	free(f->all);
	addrmap_fini(&f->number_of);
	json_frames_init(f);
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t hash(const struct summary_frame *f)
{
	uint64_t h = mix(f->pc, f->offset);

	h = mix(h, (uintptr_t)f->module);
	h = mix(h, (uintptr_t)f->function);
	h = mix(h, (uintptr_t)f->file);
	return mix(h, (uint64_t)f->line << 1 | f->inlined);
}

static bool same(const struct summary_frame *a, const struct summary_frame *b)
{
	return a->pc == b->pc && a->offset == b->offset && a->module == b->module &&
	       a->build_id == b->build_id && a->function == b->function && a->linkage == b->linkage &&
	       a->file == b->file && a->line == b->line && a->inlined == b->inlined;
}

/* Its index in @f->all; -1 if memory is short. */
static ssize_t number(struct json_frames *f, const struct summary_frame *frame)
{
	for (uint64_t key = hash(frame);; key++) {
		const size_t *at = addrmap_get(&f->number_of, key);

		if (at && same(f->all[*at], frame))
			return (ssize_t)*at;
		if (at)
			continue;
		if (grow_for(&f->all, f->n, &f->size, sizeof(*f->all)) ||
		    addrmap_put(&f->number_of, key, &f->n))
			return -1;
		f->all[f->n] = frame;
		return (ssize_t)f->n++;
	}
}

void json_frames_number(struct json_frames *f, struct strbuf *sb, const struct summary_frame *frame)
{
	ssize_t n = number(f, frame);

	if (n < 0)
		sb->err = sb->err ? sb->err : -ENOMEM;
	else
		strbuf_printf(sb, "%zd", n);
}

/* --- strings --- */

struct string {
	const char *text;
	size_t number;		/* in the order of their first use */
	const struct summary_frame *function;	/* a frame that it is the function of; NULL: there is none */
};

struct strings {
	struct string *all;
	size_t *place;		/* by number: the index in @all when that is sorted */
	size_t n, size;
	struct addrmap number_of;	/* address -> number */
};

/* @function: of that frame; or NULL. */
static int add_string(struct strings *t, const char *text, const struct summary_frame *function)
{
	size_t *at;
	bool fresh;

	if (!text || !*text)
		return 0;
	at = addrmap_slot(&t->number_of, (uintptr_t)text, &fresh);
	if (!at || grow_for(&t->all, t->n, &t->size, sizeof(*t->all)))
		return -ENOMEM;
	if (fresh) {
		*at = t->n;
		t->all[t->n++] = (struct string){ text, *at, NULL };
	}
	if (function)
		t->all[*at].function = function;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct string *x = a, *y = b;
	int r = strcmp(x->text, y->text);

	return r ? r : (x->number > y->number) - (x->number < y->number);
}

static int sort_strings(struct strings *t)
{
	t->place = calloc(t->n + 1, sizeof(*t->place));
	if (!t->place)
		return -ENOMEM;
	if (t->n)
		qsort(t->all, t->n, sizeof(*t->all), compare);
	for (size_t i = 0; i < t->n; i++)
		t->place[t->all[i].number] = i;
	return 0;
}

static int collect_strings(struct strings *t, const struct json_frames *f)
{
	int r = 0;

	addrmap_init(&t->number_of, sizeof(size_t));
	for (size_t i = 0; i < f->n && r == 0; i++) {
		r = add_string(t, f->all[i]->module, NULL);
		r = r ? r : add_string(t, f->all[i]->function, f->all[i]);
		r = r ? r : add_string(t, f->all[i]->file, NULL);
	}
	return r ? r : sort_strings(t);
}

static void fini_strings(struct strings *t)
{
	free(t->all);
	free(t->place);
	addrmap_fini(&t->number_of);
}

static bool is_ascii(char c)
{
	return (unsigned char)c < 0x80;
}

/* Of ASCII only: where these bytes end, a character ends, however a reader counts characters. */
static size_t common_prefix(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n] && is_ascii(a[n]))
		n++;
	return n;
}

/* Behind the first @prefix bytes. */
static size_t common_suffix(const char *a, const char *b, size_t prefix)
{
	const size_t m = strlen(a), k = strlen(b);
	size_t n = 0;

	while (n < m - prefix && n < k - prefix && a[m - 1 - n] == b[k - 1 - n] && is_ascii(a[m - 1 - n]))
		n++;
	return n;
}

static void put_text(struct strbuf *sb, const char *text, size_t from, size_t n)
{
	cleanup_strbuf struct strbuf part = STRBUF_INIT;

	strbuf_append(&part, text + from, n);
	sb->err = sb->err ? sb->err : strbuf_error(&part);
	strbuf_json(sb, strbuf_str(&part));
}

/*
 * How tables and graphs call it (report/names/sitename.h): 0 as it is; so many characters of it; or a name.
 */
static void put_short(struct strbuf *sb, const struct string *its)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;
	size_t n;

	if (its->function)
		sitename_function(&name, its->function);
	n = common_prefix(strbuf_str(&name), its->text);
	strbuf_putc(sb, ',');
	if (!name.len || !strcmp(strbuf_str(&name), its->text))
		strbuf_putc(sb, '0');
	else if (n == name.len)
		strbuf_printf(sb, "%zu", n);
	else
		strbuf_json(sb, strbuf_str(&name));
	sb->err = sb->err ? sb->err : strbuf_error(&name);
}

static void put_strings(const struct strings *t, struct strbuf *sb)
{
	json_list(sb, ",\n", "strings");
	strbuf_puts(sb, "0,0,\"\",0");
	for (size_t i = 0; i < t->n; i++) {
		const char *text = t->all[i].text, *before = i % WHOLE_EACH ? t->all[i - 1].text : "";
		size_t prefix = common_prefix(text, before), suffix = common_suffix(text, before, prefix);

		strbuf_printf(sb, ",\n%zu,%zu,", prefix, suffix);
		put_text(sb, text, prefix, strlen(text) - prefix - suffix);
		put_short(sb, &t->all[i]);
	}
	strbuf_putc(sb, ']');
}

/* --- modules --- */

static uint64_t module_key(const struct summary_frame *f)
{
	return mix((uintptr_t)f->module, (uintptr_t)f->build_id);
}

/* Is it the first frame of its module? -1: memory is short. */
static int is_first(struct addrmap *first, const struct json_frames *f, size_t i)
{
	const struct summary_frame *frame = f->all[i], *other;

	for (uint64_t key = module_key(frame);; key++) {
		const size_t *at = addrmap_get(first, key);

		if (!at)
			return addrmap_put(first, key, &i) ? -1 : 1;
		other = f->all[*at];
		if (other->module == frame->module && other->build_id == frame->build_id)
			return 0;
	}
}

static void put_modules(const struct json_frames *f, struct strbuf *sb)
{
	struct addrmap first;
	size_t n = 0;

	addrmap_init(&first, sizeof(size_t));
	json_list(sb, ",\n", "modules");
	for (size_t i = 0; i < f->n; i++) {
		const int its = f->all[i]->module && *f->all[i]->module ? is_first(&first, f, i) : 0;

		if (its < 0)
			sb->err = sb->err ? sb->err : -ENOMEM;
		if (its <= 0)
			continue;
		json_next_line(sb, n++, "");
		strbuf_json(sb, f->all[i]->module);
		strbuf_putc(sb, ',');
		strbuf_json(sb, f->all[i]->build_id ? f->all[i]->build_id : "");
	}
	strbuf_putc(sb, ']');
	addrmap_fini(&first);
}

/* --- the tables --- */

static void put_string(const struct strings *t, struct strbuf *sb, const char *text)
{
	const size_t *number = text && *text ? addrmap_get(&t->number_of, (uintptr_t)text) : NULL;

	strbuf_printf(sb, ",%zu", number ? t->place[*number] + 1 : 0);
}

static void put_address(struct strbuf *sb, uint64_t address)
{
	if (address > DOUBLE_HOLDS)
		strbuf_printf(sb, "\"0x%" PRIx64 "\"", address);
	else
		strbuf_printf(sb, "%" PRIu64, address);
}

static void put_frame(const struct strings *t, struct strbuf *sb, const struct summary_frame *f)
{
	put_address(sb, f->module && *f->module ? f->offset : f->pc);
	put_string(t, sb, f->module);
	put_string(t, sb, f->function);
	put_string(t, sb, f->file);
	strbuf_printf(sb, ",%d,%d", f->line > 0 ? f->line : 0, f->inlined);
}

void json_frames_put(const struct json_frames *f, struct strbuf *sb, const char *separator)
{
	struct strings t = { 0 };

	if (collect_strings(&t, f) == 0) {
		json_list(sb, separator, "frames");
		for (size_t i = 0; i < f->n; i++) {
			json_next_line(sb, i, "");
			put_frame(&t, sb, f->all[i]);
		}
		strbuf_putc(sb, ']');
		put_strings(&t, sb);
		put_modules(f, sb);
	} else {
		sb->err = sb->err ? sb->err : -ENOMEM;
	}
	fini_strings(&t);
}
