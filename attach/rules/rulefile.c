/* SPDX-License-Identifier: MIT */
#include "attach/rules/rulefile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/rules/ruletext.h"
#include "attach/rules/ruleword.h"

#define BLANKS " \t\r"
#define NO_FAMILY SIZE_MAX

/* The current position in a text. */
struct reader {
	struct ruleset *rs;
	const char *file, *pack;
	struct rulefile_error *err;
	size_t line;
	const char *text;		/* of the line, without its comment */
	size_t family;			/* number, or NO_FAMILY: none was named */
	char module[RULE_MODULE_MAX];	/* "": all */
};

static int refuse_at(struct reader *r, size_t column, const char *message)
{
	r->err->line = r->line;
	r->err->column = column;
	snprintf(r->err->message, sizeof(r->err->message), "%s", message);
	snprintf(r->err->text, sizeof(r->err->text), "%s:%zu:%zu: %s", r->file, r->line, column,
		 r->err->message);
	return -EINVAL;
}

__attribute__((format(printf, 3, 4)))
static int refuse(struct reader *r, struct word at, const char *format, ...)
{
	char message[sizeof(r->err->message)];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	return refuse_at(r, (size_t)(at.at - r->text) + 1, message);
}

/* Append a zeroed element to the @n of @size bytes at the pointer @array. NULL: no memory. */
static void *add_one(void *array, size_t *n, size_t size)
{
	char *grown;

	memcpy(&grown, array, sizeof(grown));
	grown = reallocarray(grown, *n + 1, size);
	if (!grown)
		return NULL;
	memcpy(array, &grown, sizeof(grown));
	memset(grown + *n * size, 0, size);
	return grown + (*n)++ * size;
}

/* --- families --- */

static struct rule_family *find_family(const struct ruleset *rs, const char *name)
{
	for (size_t i = 0; i < rs->nfamilies; i++)
		if (!strcmp(rs->families[i].name, name))
			return &rs->families[i];
	return NULL;
}

static const char *what_of(const struct rule_family *f)
{
	return f->refs ? "refs" : f->ranges ? "ranges" : "blocks";
}

/* The current family becomes @like, which is known already or new. */
static int enter_family(struct reader *r, struct word at, const struct rule_family *like, bool noun_given)
{
	struct rule_family *f = find_family(r->rs, like->name);

	if (f && (f->refs != like->refs || f->ranges != like->ranges))
		return refuse(r, at, "family %s is of %s elsewhere", f->name, what_of(f));
	if (f && noun_given && strcmp(f->noun, like->noun) != 0)
		return refuse(r, at, "family %s is of=%s elsewhere", f->name, f->noun);
	if (!f && r->rs->nfamilies == RULESET_MAX)
		return refuse(r, at, "more than %d families", RULESET_MAX);
	if (!f) {
		f = add_one(&r->rs->families, &r->rs->nfamilies, sizeof(*f));
		if (!f)
			return -ENOMEM;
		*f = *like;
	}
	f->private |= like->private;
	f->refuses |= like->refuses;
	r->family = (size_t)(f - r->rs->families);
	return 0;
}

static bool is_name(struct word w)
{
	static const char others[] = "_.+@-*?";

	for (size_t i = 0; i < w.len; i++) {
		char low = (char)(w.at[i] | 0x20);

		if (!(low >= 'a' && low <= 'z') && !(w.at[i] >= '0' && w.at[i] <= '9') &&
		    !strchr(others, w.at[i]))
			return false;
	}
	return w.len > 0;
}

static int take_name(struct reader *r, struct word w, const char *what, char *to, size_t size)
{
	if (!is_name(w) || w.len >= size)
		return refuse(r, w, "expected %s: at most %zu letters, digits, _ . + @ -", what, size - 1);
	memcpy(to, w.at, w.len);
	to[w.len] = '\0';
	return 0;
}

/* family NAME [refs|ranges] [of=NOUN] [private] [refuses] */
static int parse_family(struct reader *r, struct cursor at)
{
	struct rule_family like = { .noun = "block" };
	struct word name = word_next(&at), w;
	bool noun_given = false;
	int rc = take_name(r, name, "a family's name", like.name, sizeof(like.name));

	if (r->pack)
		snprintf(like.pack, sizeof(like.pack), "%s", r->pack);
	for (w = word_next(&at); rc == 0 && w.len; w = word_next(&at)) {
		if ((word_is(w, "refs") || word_is(w, "ranges")) && !like.refs && !like.ranges) {
			like.refs = word_is(w, "refs");
			like.ranges = !like.refs;
			if (!noun_given)
				strcpy(like.noun, like.refs ? "object" : "range");
		} else if (word_is(w, "private") && !like.private) {
			like.private = true;
		} else if (word_is(w, "refuses") && !like.refuses) {
			like.refuses = true;
		} else if (w.len > 3 && !memcmp(w.at, "of=", 3) && !noun_given) {
			noun_given = true;
			rc = take_name(r, (struct word){ w.at + 3, w.len - 3 }, "what one is called",
				       like.noun, sizeof(like.noun));
		} else {
			rc = refuse(r, w, "expected refs or ranges, of=NOUN, private or refuses, once");
		}
	}
	*r->module = '\0';
	return rc ? rc : enter_family(r, name, &like, noun_given);
}

/* For rules outside of any named family. */
static int enter_own(struct reader *r, struct word at, bool refs)
{
	const struct rule_family blocks = { .name = "own", .noun = "block" };
	const struct rule_family objects = { .name = "own-refs", .noun = "object", .refs = true };
	int rc = enter_family(r, at, refs ? &objects : &blocks, false);

	if (rc == 0 && r->pack)
		rc = refuse(r, at, "expected family NAME before the first rule of a pack");
	return rc;
}

/* --- lines --- */

/* module GLOB */
static int parse_module(struct reader *r, struct cursor at)
{
	struct word w = word_next(&at), more = word_next(&at);

	if (!w.len || w.len >= sizeof(r->module))
		return refuse(r, w, "expected a module's base name, which may hold * and ?");
	if (more.len)
		return refuse(r, more, "expected the end of the line");
	memcpy(r->module, w.at, w.len);
	r->module[w.len] = '\0';
	if (!strcmp(r->module, "*"))
		*r->module = '\0';
	return 0;
}

/* note TEXT */
static int parse_note(struct reader *r, struct cursor at)
{
	const char *text = at.at + strspn(at.at, BLANKS);
	struct word w = { text, strlen(text) };
	struct rule_family *f;

	while (w.len && strchr(BLANKS, w.at[w.len - 1]))
		w.len--;
	if (r->family == NO_FAMILY)
		return refuse(r, w, "expected family NAME before what is to be known of it");
	f = &r->rs->families[r->family];
	if (!w.len || w.len >= sizeof(f->note))
		return refuse(r, w, "expected a sentence of at most %zu bytes", sizeof(f->note) - 1);
	memcpy(f->note, w.at, w.len);
	f->note[w.len] = '\0';
	return 0;
}

/* skip FUNCTION */
static int parse_skip(struct reader *r, struct cursor at)
{
	struct word w = word_next(&at), more = word_next(&at);
	struct rule function = { 0 };
	struct rule_error err;
	struct rule_skip *skip;

	if (rule_parse_function(w.at, w.len, &function, &err))
		return refuse_at(r, (size_t)(w.at - r->text) + err.column, err.message);
	if (more.len)
		return refuse(r, more, "expected the end of the line");
	if (r->rs->nskips == RULESET_MAX)
		return refuse(r, w, "more than %d wrappers", RULESET_MAX);
	skip = add_one(&r->rs->skips, &r->rs->nskips, sizeof(*skip));
	if (!skip)
		return -ENOMEM;
	*skip = (struct rule_skip){ .where = function.where, .addr = function.addr };
	strcpy(skip->name, function.name);
	strcpy(skip->build_id, function.build_id);
	return 0;
}

/* A rule of ranges must give the length: it is known from nothing else. */
static int check_range(struct reader *r, struct word op, const struct rule *rule)
{
	if (!rule->size.n)
		return refuse(r, op, "expected size=: how long the range is");
	if (rule->op == RULE_REALLOC && !rule->was.n)
		return refuse(r, op, "expected was=: how long the old range is");
	if (rule->also.n)
		return refuse(r, op, "also= in family %s, which is of ranges",
			      r->rs->families[r->family].name);
	return 0;
}

static int check_kind(struct reader *r, struct word op, const struct rule *rule)
{
	const struct rule_family *f = &r->rs->families[r->family];

	if (rule_is_ref(rule) && !f->refs)
		return refuse(r, op, "%s in family %s, which is of blocks: expected family %s refs",
			      rule_op_name(rule->op), f->name, f->name);
	if (!rule_is_ref(rule) && f->refs)
		return refuse(r, op, "%s in family %s, which is of refs: expected ref or unref",
			      rule_op_name(rule->op), f->name);
	if (rule_is_of_ranges(rule) && !f->ranges)
		return refuse(
			r, op,
			"protect, prot=, was= and size= of free are for ranges: expected family %s ranges",
			f->name);
	if (rule_is_of_pools(rule) && f->ranges)
		return refuse(r, op, "pool, reset, move and pool= in family %s, which is of ranges", f->name);
	return f->ranges ? check_range(r, op, rule) : 0;
}

static int place_in_family(struct reader *r, struct word op, struct rule *rule)
{
	bool none = r->family == NO_FAMILY;
	int rc = none ? enter_own(r, op, rule_is_ref(rule)) : 0;

	if (rc == 0)
		rc = check_kind(r, op, rule);
	if (rc == 0) {
		rule->family = (uint16_t)r->family;
		r->rs->families[r->family].pools |= rule_is_of_pools(rule);
	}
	if (none)
		r->family = NO_FAMILY;
	return rc;
}

static int parse_rule(struct reader *r, struct word op)
{
	struct rule_error err;
	struct rule rule, *to;
	int rc = 0;

	if (rule_parse(r->text, &rule, &err))
		return refuse_at(r, err.column, err.message);
	if (!rule_is_scope(&rule))
		rc = place_in_family(r, op, &rule);
	if (rc)
		return rc;
	if (r->rs->nrules == RULESET_MAX)
		return refuse(r, op, "more than %d rules", RULESET_MAX);
	to = add_one(&r->rs->rules, &r->rs->nrules, sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = rule;
	to->pack = r->pack;
	to->builtin = r->pack != NULL;
	if (!*to->module)
		strcpy(to->module, r->module);
	return 0;
}

static int parse_line(struct reader *r)
{
	struct cursor at = { .text = r->text, .at = r->text };
	struct word w = word_next(&at);

	if (!w.len)
		return 0;
	if (word_is(w, "family"))
		return parse_family(r, at);
	if (word_is(w, "module"))
		return parse_module(r, at);
	if (word_is(w, "skip"))
		return parse_skip(r, at);
	if (word_is(w, "note"))
		return parse_note(r, at);
	return parse_rule(r, w);
}

/* The offset where the comment begins, or the end of the line. */
static size_t without_comment(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (line[i] == '#' && (i == 0 || strchr(BLANKS, line[i - 1])))
			return i;
	return len;
}

static int read_line(struct reader *r, const char *line, size_t len)
{
	cleanup_free char *copy = strndup(line, without_comment(line, len));
	const char *nul = memchr(line, '\0', len);

	if (!copy)
		return -ENOMEM;
	r->text = copy;
	r->line++;
	if (nul)
		return refuse_at(r, (size_t)(nul - line) + 1, "a NUL byte: expected text");
	return parse_line(r);
}

int ruleset_add_text(struct ruleset *rs, const char *file, const char *pack, const char *text, size_t len,
		     struct rulefile_error *err)
{
	struct reader r = { .rs = rs, .file = file, .pack = pack, .err = err, .family = NO_FAMILY };
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : len - at;

		rc = read_line(&r, text + at, n);
		at += n + 1;
	}
	return rc;
}

void ruleset_fini(struct ruleset *rs)
{
	free(rs->rules);
	free(rs->families);
	free(rs->skips);
	*rs = (struct ruleset){ 0 };
}

/* --- selecting --- */

static bool has_name(const struct ruleset *all, const struct rule *rule, const char *name)
{
	if (rule_is_scope(rule))
		return false;
	return !strcmp(all->families[rule->family].name, name) || (rule->pack && !strcmp(rule->pack, name));
}

static const char *find_unknown(const struct ruleset *all, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool known = false;

		for (size_t k = 0; !known && k < all->nrules; k++)
			known = has_name(all, &all->rules[k], names[i]);
		if (!known)
			return names[i];
	}
	return NULL;
}

static bool is_selected(const struct ruleset *all, const struct rule *rule, const char *const *names,
			size_t n)
{
	if (!rule->pack)
		return true;
	for (size_t i = 0; i < n; i++)
		if (has_name(all, rule, names[i]))
			return true;
	return false;
}

static int take_family(struct ruleset *out, const struct rule_family *from, uint16_t *number)
{
	struct rule_family *f = find_family(out, from->name);

	if (!f) {
		f = add_one(&out->families, &out->nfamilies, sizeof(*f));
		if (!f)
			return -ENOMEM;
		*f = *from;
	}
	*number = (uint16_t)(f - out->families);
	return 0;
}

static int take_rule(struct ruleset *out, const struct ruleset *all, const struct rule *rule)
{
	struct rule *to = add_one(&out->rules, &out->nrules, sizeof(*to));

	if (!to)
		return -ENOMEM;
	*to = *rule;
	return rule_is_scope(rule) ? 0 : take_family(out, &all->families[rule->family], &to->family);
}

static int take_skips(struct ruleset *out, const struct ruleset *all)
{
	out->skips = calloc(all->nskips + 1, sizeof(*out->skips));
	if (!out->skips)
		return -ENOMEM;
	for (size_t i = 0; i < all->nskips; i++)
		out->skips[out->nskips++] = all->skips[i];
	return 0;
}

int ruleset_select(const struct ruleset *all, const char *const *names, size_t n, struct ruleset *out,
		   const char **unknown)
{
	int rc;

	*out = (struct ruleset){ 0 };
	*unknown = find_unknown(all, names, n);
	if (*unknown)
		return -ENOENT;
	rc = take_skips(out, all);
	for (size_t i = 0; rc == 0 && i < all->nrules; i++)
		if (is_selected(all, &all->rules[i], names, n))
			rc = take_rule(out, all, &all->rules[i]);
	if (rc)
		ruleset_fini(out);
	return rc;
}

bool rule_skip_holds_in(const struct rule_skip *s, const char *module, const char *build_id)
{
	struct rule r = { .where = s->where };

	memcpy(r.name, s->name, sizeof(r.name));
	memcpy(r.build_id, s->build_id, sizeof(r.build_id));
	return rule_holds_in(&r, module, build_id);
}
