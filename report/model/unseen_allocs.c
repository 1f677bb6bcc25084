/* SPDX-License-Identifier: MIT */
#include "report/model/unseen_allocs.h"

#include <string.h>

#include "report/model/format_text.h"
#include "trace/probenote.h"

static bool is_of(const struct summary_probe *p, const char *module)
{
	return p->module && (!module || !strcmp(p->module, module));
}

/* NULL: of any module. */
static bool any_called(const struct summary_run *run, const char *module)
{
	for (size_t i = 0; i < run->nprobes; i++)
		if (is_of(&run->probes[i], module) && run->probes[i].hits)
			return true;
	return false;
}

static bool allocates(const struct summary_probe *p)
{
	static const char *const words[] = { "alloc ", "realloc ", "pool " };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strncmp(p->rule, words[i], strlen(words[i])))
			return true;
	return false;
}

static bool is_unseen(const struct summary_run *run, const struct summary_probe *p)
{
	return p->module && p->note && !probenote_is_other_rule(p->note) && allocates(p) &&
	       (any_called(run, p->module) || !any_called(run, NULL));
}

static const struct summary_probe *first(const struct summary_run *run)
{
	for (size_t i = 0; i < run->nprobes; i++)
		if (is_unseen(run, &run->probes[i]))
			return &run->probes[i];
	return NULL;
}

bool unseen_allocs_any(const struct summary_run *run)
{
	return first(run) != NULL;
}

/* The second word of the rule. */
static void put_function(struct strbuf *sb, const struct summary_probe *p)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;
	const char *rest = strchr(p->rule, ' ') + 1;

	strbuf_append(&name, rest, strcspn(rest, " "));
	strbuf_text(sb, strbuf_str(&name));
	if (name.err && !sb->err)
		sb->err = name.err;
}

static void put_module(struct strbuf *sb, const char *path)
{
	const char *slash = strrchr(path, '/');

	strbuf_text(sb, slash ? slash + 1 : path);
}

void unseen_allocs_put(struct strbuf *sb, const struct summary_run *run)
{
	const struct summary_probe *p = first(run);
	size_t more = 0;

	if (!p)
		return;
	for (size_t i = 0; i < run->nprobes; i++)
		more += &run->probes[i] != p && is_of(&run->probes[i], p->module) && is_unseen(run, &run->probes[i]);
	put_function(sb, p);
	if (more) {
		strbuf_puts(sb, " and ");
		format_count(sb, more, "more function");
	}
	strbuf_puts(sb, " of ");
	put_module(sb, p->module);
}
