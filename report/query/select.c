/* SPDX-License-Identifier: MIT */
/* select: see select.h. */
#include "report/query/select.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "report/model/format_text.h"

struct pattern {
	regex_t regex;
	bool focus;
};

struct select {
	struct pattern *patterns;
	size_t n;
	bool focused;		/* there is a --focus */
};

int select_new(struct select **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void select_free(struct select *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		regfree(&s->patterns[i].regex);
	free(s->patterns);
	free(s);
}

static int add(struct select *s, const char *text, bool focus, char *why, size_t why_size)
{
	struct pattern *grown = reallocarray(s->patterns, s->n + 1, sizeof(*grown));
	int err;

	if (!grown)
		return -ENOMEM;
	s->patterns = grown;
	grown[s->n].focus = focus;
	err = regcomp(&grown[s->n].regex, text, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &grown[s->n].regex, why, why_size);
		return err == REG_ESPACE ? -ENOMEM : -EINVAL;
	}
	s->n++;
	s->focused |= focus;
	return 0;
}

int select_focus(struct select *s, const char *regex, char *why, size_t why_size)
{
	return add(s, regex, true, why, why_size);
}

int select_ignore(struct select *s, const char *regex, char *why, size_t why_size)
{
	return add(s, regex, false, why, why_size);
}

static bool matches(const struct pattern *p, const char *text)
{
	return text && regexec(&p->regex, text, 0, NULL, 0) == 0;
}

/* As in reports: the name of the file, and the offset in it. */
static bool matches_offset(const struct pattern *p, const struct summary_frame *f)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (!f->module)
		return false;
	strbuf_puts(&text, format_base(f->module));
	strbuf_printf(&text, "+0x%" PRIx64, f->offset);
	return !strbuf_error(&text) && matches(p, strbuf_str(&text));
}

/* As in reports: "svc.c:42". */
static bool matches_line(const struct pattern *p, const struct summary_frame *f)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (!f->file || f->line <= 0)
		return false;
	strbuf_printf(&text, "%s:%d", f->file, f->line);
	return !strbuf_error(&text) && matches(p, strbuf_str(&text));
}

static bool matches_any_frame(const struct pattern *p, const struct summary_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (matches(p, frames[i].function) || matches(p, frames[i].module) ||
		    matches(p, frames[i].file) || matches_line(p, &frames[i]) ||
		    matches_offset(p, &frames[i]))
			return true;
	return false;
}

static bool any_matches(const struct select *s, bool focus, const struct summary_frame *frames, size_t n)
{
	for (size_t i = 0; s && i < s->n; i++)
		if (s->patterns[i].focus == focus && matches_any_frame(&s->patterns[i], frames, n))
			return true;
	return false;
}

bool select_focuses(const struct select *s, const struct summary_frame *frames, size_t n)
{
	return !s || !s->focused || any_matches(s, true, frames, n);
}

bool select_ignores(const struct select *s, const struct summary_frame *frames, size_t n)
{
	return any_matches(s, false, frames, n);
}

bool select_wants(const struct select *s, const struct summary_frame *frames, size_t n)
{
	return select_focuses(s, frames, n) && !select_ignores(s, frames, n);
}
