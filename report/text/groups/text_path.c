/* SPDX-License-Identifier: MIT */
/* text_path: see text_path.h. */
#include "report/text/groups/text_path.h"

#include <stdbool.h>
#include <string.h>

#include "report/model/format_text.h"

#define LEFT_OUT "..."

/* One directory of a path, or its name. */
struct part {
	const char *at;
	size_t len;
};

/* The next one from *@p on; false if there is none. */
static bool next_part(const char **p, struct part *out)
{
	*p += strspn(*p, "/");
	*out = (struct part){ *p, strcspn(*p, "/") };
	*p += out->len;
	return out->len > 0;
}

static bool is_here(const struct part *part)
{
	return part->len == 1 && *part->at == '.';
}

static bool same(const struct part *a, const struct part *b)
{
	return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

/*
 * Debian's glibc was compiled in the directory "./nptl" from "./nptl/x.c", so its debug information has
 * "./nptl/./nptl/x.c". Only a directory that is repeated after "/./" is left out: "redis/redis/x.c" may well
 * be two directories.
 */
static void tidy(struct strbuf *sb, const char *path)
{
	struct part part, last = { .len = 0 };
	bool here = false, any = false;
	const char *p = path;

	while (next_part(&p, &part)) {
		if (is_here(&part)) {
			here = true;
			continue;
		}
		if (!(here && *p && same(&part, &last))) {
			strbuf_puts(sb, any || *path == '/' ? "/" : "");
			strbuf_append(sb, part.at, part.len);
			any = true;
		}
		here = false;
		last = part;
	}
	if (!any)
		strbuf_puts(sb, path);
}

/*
 * The longest end of @text that fits and begins with a slash; if none fits, the shortest. NULL: there is no
 * slash.
 */
static const char *end_that_fits(const char *text, size_t width)
{
	const char *end = NULL;

	for (const char *slash = strchr(text, '/'); slash; slash = strchr(slash + 1, '/')) {
		end = slash;
		if (format_characters(slash, strlen(slash)) <= width)
			break;
	}
	return end;
}

static void shorten(struct strbuf *sb, const char *path, size_t width)
{
	const char *first = path + strspn(path, "/"), *end = NULL;
	size_t head;

	first += strcspn(first, "/");
	first += *first == '/';
	head = format_characters(path, (size_t)(first - path)) + strlen(LEFT_OUT);
	if (format_characters(path, strlen(path)) > width)
		end = end_that_fits(first, width > head ? width - head : 0);
	/* the dots would be no shorter than what they replace */
	if (!end || (size_t)(end - first) <= strlen(LEFT_OUT)) {
		strbuf_puts(sb, path);
		return;
	}
	strbuf_append(sb, path, (size_t)(first - path));
	strbuf_puts(sb, LEFT_OUT);
	strbuf_puts(sb, end);
}

void text_path(struct strbuf *sb, const char *path, int line, size_t width)
{
	cleanup_strbuf struct strbuf plain = STRBUF_INIT, safe = STRBUF_INIT;

	tidy(&plain, path);
	strbuf_text(&safe, strbuf_str(&plain));
	if (line > 0)
		strbuf_printf(&safe, ":%d", line);
	shorten(sb, strbuf_str(&safe), width);
	if ((plain.err || safe.err) && !sb->err)
		sb->err = plain.err ? plain.err : safe.err;
}
