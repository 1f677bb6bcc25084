/* SPDX-License-Identifier: MIT */
/* text_probes: see text_probes.h. */
#include "report/text/text_probes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/text/groups/wrap.h"
#include "trace/probenote.h"

/* no run has so many rules, but a file may claim it: then they are not compared with each other */
#define MANY 1000
#define INDENT 12	/* as the head's other lines */
#define NEVER "    never called  "

/* The first two words of a rule: what the call does, and the function. */
struct rule_head {
	const char *name;		/* points into the rule */
	size_t name_len, len;		/* of the name; of both words, from the beginning of the rule */
};

static struct rule_head head_of(const struct summary_probe *p)
{
	struct rule_head h;
	size_t verb = strcspn(p->rule, " ");

	h.name = p->rule + verb + strspn(p->rule + verb, " ");
	h.name_len = strcspn(h.name, " ");
	h.len = (size_t)(h.name - p->rule) + h.name_len;
	return h;
}

static bool is_watched(const struct summary_probe *p)
{
	return p->module && !p->note;
}

static bool is_never_called(const struct summary_probe *p)
{
	return is_watched(p) && !p->hits;
}

/* Is it a scope, a rule about where or when counting is on? The calls of its function are not counted. */
static bool is_scope(const struct summary_probe *p)
{
	static const char *const verbs[] = { "from", "until", "in" };
	const size_t len = strcspn(p->rule, " ");

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strlen(verbs[i]) == len && memcmp(p->rule, verbs[i], len) == 0)
			return true;
	return false;
}

/* NULL for a scope: the family that is stored there has no meaning. */
static const char *family_of(const struct summary_probe *p)
{
	return is_scope(p) ? NULL : p->family;
}

static bool same_family(const struct summary_probe *a, const struct summary_probe *b)
{
	const char *of_a = family_of(a), *of_b = family_of(b);

	return of_a && of_b ? strcmp(of_a, of_b) == 0 : of_a == of_b;
}

/* Is it a family of rules that the user wrote? No pack has these (attach/rules/rulefile.h). */
static bool is_of_the_user(const struct summary_probe *p)
{
	const char *family = family_of(p);

	return !family || strcmp(family, "own") == 0 || strcmp(family, "own-refs") == 0;
}

static bool same_name(const struct summary_probe *a, const struct summary_probe *b)
{
	struct rule_head ha = head_of(a), hb = head_of(b);

	return ha.name_len == hb.name_len && memcmp(ha.name, hb.name, ha.name_len) == 0;
}

/* --- one rule --- */

static bool are_many(const struct summary_run *run)
{
	return run->nprobes > MANY;
}

/* Is there another rule with the same function as @p's? */
static bool has_double(const struct summary_run *run, const struct summary_probe *p)
{
	if (are_many(run))
		return true;
	for (size_t i = 0; i < run->nprobes; i++) {
		const struct summary_probe *q = &run->probes[i];

		if (q != p && same_family(p, q) && same_name(p, q) && strcmp(p->rule, q->rule) != 0)
			return true;
	}
	return false;
}

static void put_rule(struct strbuf *sb, const struct summary *s, const struct summary_probe *p)
{
	cleanup_strbuf struct strbuf rule = STRBUF_INIT;
	bool whole = is_of_the_user(p) || has_double(&s->run, p);

	if (family_of(p) && s->nfamilies > 1) {
		strbuf_text(sb, p->family);
		strbuf_puts(sb, ": ");
	}
	strbuf_append(&rule, p->rule, whole ? strlen(p->rule) : head_of(p).len);
	strbuf_text(sb, strbuf_str(&rule));
	if (rule.err && !sb->err)
		sb->err = rule.err;
}

static void put_probe(struct strbuf *sb, const struct summary *s, const struct summary_probe *p)
{
	strbuf_pad(sb, ' ', INDENT);
	if (is_scope(p) && is_watched(p))
		strbuf_printf(sb, "%16s  ", "not counted");
	else if (is_never_called(p))
		strbuf_puts(sb, NEVER);
	else
		strbuf_printf(sb, "%11" PRIu64 " hit%s  ", p->hits, p->hits == 1 ? " " : "s");
	put_rule(sb, s, p);
	if (p->module) {
		strbuf_puts(sb, "  in ");
		strbuf_text(sb, format_base(p->module));
	}
	if (!is_watched(p)) {
		strbuf_puts(sb, "  NOT WATCHED: ");
		strbuf_text(sb, p->note ? p->note : "no such function in the target");
	}
	strbuf_putc(sb, '\n');
}

/* --- rules of a family that were never called --- */

/* A function may be in several modules, and have several rules: it is listed once. */
static bool is_first_uncalled(const struct summary_run *run, size_t index)
{
	const struct summary_probe *p = &run->probes[index];

	for (size_t i = 0; i < index; i++)
		if (is_never_called(&run->probes[i]) && same_family(p, &run->probes[i]) &&
		    same_name(p, &run->probes[i]))
			return false;
	return is_never_called(p);
}

static size_t count_never_called(const struct summary_run *run, const struct summary_probe *of)
{
	size_t n = 0;

	for (size_t i = 0; i < run->nprobes; i++)
		n += same_family(of, &run->probes[i]) && is_first_uncalled(run, i);
	return n;
}

/* @word after the text of this line, or on a new line. */
static void put_word(struct strbuf *sb, const struct summary *s, const struct strbuf *word, size_t *column)
{
	const size_t line = s->columns ? s->columns : WRAP_WIDTH;
	size_t begin = INDENT + strlen(NEVER), width = format_width(word);

	if (*column > begin && *column + 1 + width > line) {
		strbuf_putc(sb, '\n');
		strbuf_pad(sb, ' ', begin);
		*column = begin;
	} else if (*column > begin) {
		strbuf_putc(sb, ' ');
		++*column;
	}
	strbuf_puts(sb, strbuf_str(word));
	*column += width;
	if (word->err && !sb->err)
		sb->err = word->err;
}

static void put_name(struct strbuf *sb, const struct summary *s, const struct summary_probe *p, bool last,
		     size_t *column)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT, word = STRBUF_INIT;
	struct rule_head h = head_of(p);

	strbuf_append(&name, h.name, h.name_len);
	strbuf_text(&word, strbuf_str(&name));
	strbuf_puts(&word, last ? "" : ",");
	put_word(sb, s, &word, column);
}

static void put_never_called(struct strbuf *sb, const struct summary *s, const struct summary_probe *of,
			     size_t n)
{
	const struct summary_run *run = &s->run;
	cleanup_strbuf struct strbuf tail = STRBUF_INIT;
	size_t column = INDENT + strlen(NEVER), at = 0;

	strbuf_pad(sb, ' ', INDENT);
	strbuf_puts(sb, NEVER);
	for (size_t i = 0; i < run->nprobes; i++)
		if (same_family(of, &run->probes[i]) && is_first_uncalled(run, i))
			put_name(sb, s, &run->probes[i], ++at == n, &column);
	strbuf_printf(&tail, "(%zu of family ", n);
	strbuf_text(&tail, of->family);
	strbuf_putc(&tail, ')');
	put_word(sb, s, &tail, &column);
	strbuf_putc(sb, '\n');
}

/* --- all --- */

/* Is a rule of another pack planted at its function? Then what it is about is watched. */
static bool is_watched_by_other(const struct summary_probe *p)
{
	return !is_of_the_user(p) && probenote_is_other_rule(p->note);
}

/*
 * The family of @first, which is its first rule. A rule that sees nothing is the commonest reason for a
 * report that says nothing: so the rules that the user wrote have their lines in any case. A pack is for many
 * programs, none of which calls all of its functions: it is worth a line only if none of its rules was
 * called.
 */
static void put_family(struct strbuf *sb, const struct summary *s, const struct summary_probe *first)
{
	const bool own = is_of_the_user(first);
	uint64_t hits = 0;
	size_t never;

	for (size_t i = 0; i < s->run.nprobes; i++) {
		const struct summary_probe *p = &s->run.probes[i];

		if (!same_family(first, p))
			continue;
		hits += p->hits;
		if (own || !(is_never_called(p) || is_watched_by_other(p)))
			put_probe(sb, s, p);
	}
	never = own || hits ? 0 : count_never_called(&s->run, first);
	if (never)
		put_never_called(sb, s, first, never);
}

static bool is_first_of_family(const struct summary_run *run, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_family(&run->probes[i], &run->probes[index]))
			return false;
	return true;
}

void text_probes(struct strbuf *sb, const struct summary *s)
{
	for (size_t i = 0; i < s->run.nprobes; i++) {
		const struct summary_probe *p = &s->run.probes[i];

		if (!are_many(&s->run) && is_first_of_family(&s->run, i))
			put_family(sb, s, p);
		else if (are_many(&s->run) && !is_watched_by_other(p))
			put_probe(sb, s, p);
	}
}
