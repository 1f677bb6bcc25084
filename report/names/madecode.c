/* SPDX-License-Identifier: MIT */
/* madecode: see madecode.h. */
#include "report/names/madecode.h"

#include <ctype.h>
#include <string.h>

/* A name in two parts; the mark between or after them is left out. */
struct parts {
	const char *a, *b;
	size_t a_len, b_len;
};

static size_t without_tier(const char *name, size_t n)
{
	static const char *const marks[] = { "[Tier", "[Optimized", "[QuickJit", "[Instrumented", "[MinOpt" };
	const char *open = n && name[n - 1] == ']' ? strrchr(name, '[') : NULL;

	for (size_t i = 0; open && i < sizeof(marks) / sizeof(marks[0]); i++)
		if (!strncmp(open, marks[i], strlen(marks[i])))
			return (size_t)(open - name);
	return n;
}

static struct parts split(const char *name)
{
	size_t word = 0, n = strlen(name);

	while (isalpha((unsigned char)name[word]))
		word++;
	if (word && name[word] == ':' && name[word + 1] && strchr("~^+*", name[word + 1]))
		return (struct parts){ name, name + word + 2, word + 1, n - word - 2 };
	return (struct parts){ name, "", without_tier(name, n), 0 };
}

static uint64_t add(uint64_t h, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return h;
}

const struct defs_name *madecode_name(const struct defs *d, const struct defs_frame *f)
{
	const struct defs_name *name = f->module == DEFS_NONE && f->nnames ? &d->names[f->names] : NULL;

	return name && name->function ? name : NULL;
}

uint64_t madecode_hash(const struct defs_name *name)
{
	struct parts p = split(name->function);
	uint64_t h = add(add(0xcbf29ce484222325ull, p.a, p.a_len), p.b, p.b_len);

	return name->file ? add(h, name->file, strlen(name->file)) ^ (uint64_t)name->line << 40 : h;
}

static bool same_file(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool madecode_same(const struct defs_name *a, const struct defs_name *b)
{
	struct parts pa = split(a->function), pb = split(b->function);

	return pa.a_len == pb.a_len && pa.b_len == pb.b_len && !memcmp(pa.a, pb.a, pa.a_len) &&
	       !memcmp(pa.b, pb.b, pa.b_len) && same_file(a->file, b->file) && a->line == b->line;
}

void madecode_put(struct strbuf *sb, const char *name)
{
	struct parts p = split(name);

	strbuf_append(sb, p.a, p.a_len);
	strbuf_append(sb, p.b, p.b_len);
}
