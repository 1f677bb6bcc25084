/* SPDX-License-Identifier: MIT */
/*
 * shortname: see shortname.h.
 *
 * The name is split into its scopes, from left to right. If a blank, '*' or '&' follows outside of all
 * brackets, what was read so far was a return type, and is discarded.
 */
#include "report/names/shortname.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define PARTS_MAX 64
#define LEVELS_MAX 2		/* of template arguments that are worth reading */
#define NESTED_MAX 200		/* depth of nested brackets */

struct part {
	const char *text;
	size_t plain;		/* its name alone */
	size_t whole;		/* with template arguments */
};

struct parts {
	struct part list[PARTS_MAX];
	size_t n;
};

static bool begins(const char *p, const char *with)
{
	return !strncmp(p, with, strlen(with));
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Skips the symbol of an operator: "operator<<", "operator()", "operator new[]". @p is after "operator". */
static const char *behind_symbol(const char *p)
{
	static const char *const symbols[] = {
		"()", "[]", "->*", "->",     "<=>",  "<<=",	  ">>=",     "<<",    ">>",   "<=",
		">=", "<",  ">",   " new[]", " new", " delete[]", " delete", "\"\" ", "\"\"",
	};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (begins(p, symbols[i]))
			return p + strlen(symbols[i]);
	return p;
}

/*
 * Skips the bracket at @p and its content; NULL if it is not closed. In round brackets '<' and '>' may be
 * operators.
 */
static const char *behind_brackets(const char *p, unsigned int depth)
{
	char open = *p, close = open == '(' ? ')' : open == '<' ? '>' : open == '[' ? ']' : '}';

	if (depth > NESTED_MAX)
		return NULL;
	for (p++; *p && *p != close;) {
		if (begins(p, "operator") && !is_word(p[-1])) {
			p = behind_symbol(p + strlen("operator"));
		} else if (begins(p, "->")) {
			p += 2;
		} else if (*p == '(' || *p == '[' || *p == '{' || (*p == '<' && open == '<')) {
			p = behind_brackets(p, depth + 1);
			if (!p)
				return NULL;
		} else {
			p++;
		}
	}
	return *p ? p + 1 : NULL;
}

/* Skips the name of the part that begins at @p, without its arguments. */
static const char *behind_name(const char *p)
{
	if (begins(p, "(anonymous namespace)"))
		return p + strlen("(anonymous namespace)");
	if (*p == '{' || *p == '<')
		return behind_brackets(p, 0);
	if (*p == '\'') {
		const char *end = strchr(p + 1, '\'');

		return end ? end + 1 : NULL;
	}
	if (begins(p, "operator") && !is_word(p[strlen("operator")])) {
		const char *after = behind_symbol(p + strlen("operator"));

		/* another symbol, or the target type of a conversion */
		while (*after && *after != '(' && *after != '<')
			after++;
		return after[-1] == ' ' ? after - 1 : after;
	}
	p += *p == '~';
	while (is_word(*p) || (*p == '#' && isdigit((unsigned char)p[1])))
		p++;
	return p;
}

/*
 * Skips what may come between a name and its arguments: template arguments, also Rust's ("::<T>", "::<impl
 * ...>"), ABI tags.
 */
static const char *behind_templates(const char *p)
{
	while (p && (*p == '<' || begins(p, " <") || begins(p, "::<") || begins(p, "[abi:")))
		p = behind_brackets(*p == ':' ? p + 2 : *p == ' ' ? p + 1 : p, 0);
	return p;
}

/* Skips the arguments at @p and what may follow them: const, &, &&. */
static const char *behind_arguments(const char *p)
{
	static const char *const after[] = { " const", " volatile", " &&", " &", "&&", "&" };
	bool found = true;

	p = behind_brackets(p, 0);
	while (p && found) {
		found = false;
		for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++)
			if (begins(p, after[i])) {
				p += strlen(after[i]);
				found = true;
			}
	}
	return p;
}

static void add(struct parts *to, const char *text, const char *plain_end, const char *end)
{
	if (to->n == PARTS_MAX) {
		memmove(to->list, to->list + 1, (PARTS_MAX - 1) * sizeof(to->list[0]));
		to->n--;
	}
	to->list[to->n++] = (struct part){ text, (size_t)(plain_end - text), (size_t)(end - text) };
}

static bool is_end(const char *p)
{
	return !*p || begins(p, " [clone") || begins(p, " (.") || *p == '.' || *p == '@';
}

/* false: the name has another syntax. */
static bool split(const char *name, struct parts *to)
{
	const char *p = name;

	to->n = 0;
	while (*p) {
		const char *text = p, *plain, *end;

		plain = behind_name(p);
		end = plain && plain > text ? behind_templates(plain) : plain;
		if (!end)
			return false;
		if (begins(end, "::") && end > text) {
			add(to, text, plain, end);
			p = end + 2;
		} else if (*end == '(' && end > text) {
			add(to, text, plain, end);
			p = behind_arguments(end);
			if (!p)
				return false;
			if (!begins(p, "::"))
				return is_end(p);
			p += 2;
		} else if (end > text && is_end(end)) {
			add(to, text, plain, end);
			return true;
		} else if (*end == '(') {	/* decltype(...) as a return type */
			p = behind_brackets(end, 0);
			if (!p)
				return false;
		} else if (*end == ' ' || *end == '*' || *end == '&') {
			to->n = 0;
			p = end + 1;
		} else {
			return false;
		}
	}
	return false;
}

/* The next character after @p, or after the bracket that begins there; at most @end. */
static const char *further(const char *p, const char *end)
{
	p = *p == '<' || *p == '(' || *p == '[' ? behind_brackets(p, 0) : p + 1;
	return p && p < end ? p : end;
}

static const char *behind_type(const char *p, const char *end)
{
	while (p < end && !begins(p, " as "))
		p = further(p, end);
	return p;
}

/*
 * "T::f" for "<T as Trait>::f" and "<T>::f", if T is a name by itself; T may have scopes and arguments, too.
 */
static bool unwrap(struct strbuf *sb, const char *name)
{
	const char *end = *name == '<' ? behind_brackets(name, 0) : NULL, *type;
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct parts parts;

	if (!end || !begins(end, "::"))
		return false;
	type = behind_type(name + 1, end - 1);
	strbuf_append(&text, name + 1, (size_t)(type - name) - 1);
	if (!split(strbuf_str(&text), &parts))
		return false;
	strbuf_puts(sb, strbuf_str(&text));
	strbuf_puts(sb, end);
	return true;
}

/* For "<T as Trait>" the type; for "{lambda(int)#1}" the text without the parameters. */
static void put_part(struct strbuf *sb, const struct part *part)
{
	if (*part->text == '<') {
		const char *end = part->text + part->plain - 1, *type = behind_type(part->text + 1, end);

		strbuf_append(sb, part->text + 1, (size_t)(type - part->text) - 1);
		return;
	}
	if (*part->text == '{' && begins(part->text, "{lambda(")) {
		const char *end = behind_brackets(part->text + strlen("{lambda"), 0);

		strbuf_puts(sb, "{lambda");
		strbuf_append(sb, end, (size_t)(part->text + part->plain - end));
		return;
	}
	strbuf_append(sb, part->text, part->plain);
}

/* Not the version of the library's ABI: libstdc++'s __cxx11, libc++'s __1. */
static bool is_shown(const struct part *part)
{
	return !begins(part->text, "(anonymous namespace)") && !begins(part->text, "__cxx11::") &&
	       !begins(part->text, "__1::");
}

/* What the library's templates have as arguments if nothing else is written. */
static bool is_default(const char *argument)
{
	static const char *const of_library[] = {
		"std::allocator<", "std::char_traits<", "std::default_delete<", "std::less<",
		"std::hash<", "std::equal_to<", "alloc::alloc::Global",
		"(__gnu_cxx::_Lock_policy)",
	};

	for (size_t i = 0; i < sizeof(of_library) / sizeof(of_library[0]); i++)
		if (begins(argument, of_library[i]))
			return true;
	return false;
}

static void shorten(struct strbuf *sb, const char *name, unsigned levels, size_t width);

/*
 * The template arguments, each in its short form, with @levels - 1 levels of its own; "<" may have a blank or
 * "::" before it.
 */
static void put_arguments(struct strbuf *sb, const struct part *part, unsigned levels)
{
	const char *end = part->text + part->whole - 1, *p = part->text + part->plain;

	p += strspn(p, " :");
	if (p >= end || *p != '<')
		return;
	for (char before = '<'; p < end; before = ',') {
		cleanup_strbuf struct strbuf text = STRBUF_INIT;
		const char *from = ++p, *last;

		while (p < end && *p != ',')
			p = further(p, end);
		from += strspn(from, " ");
		for (last = p; last > from && last[-1] == ' '; last--)
			;
		strbuf_append(&text, from, last > from ? (size_t)(last - from) : 0);
		if (before == ',' && is_default(strbuf_str(&text)))
			continue;
		strbuf_puts(sb, before == '<' ? "<" : ", ");
		shorten(sb, strbuf_str(&text), levels - 1, 0);
	}
	strbuf_putc(sb, '>');
}

static void put_from(struct strbuf *sb, const struct parts *parts, size_t from, unsigned levels)
{
	bool first = true;

	for (size_t i = from; i < parts->n; i++) {
		if (!is_shown(&parts->list[i]))
			continue;
		strbuf_puts(sb, first ? "" : "::");
		put_part(sb, &parts->list[i]);
		if (levels)
			put_arguments(sb, &parts->list[i], levels);
		first = false;
	}
}

static bool fits(const struct parts *parts, size_t from, unsigned levels, size_t width)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	put_from(&sb, parts, from, levels);
	return sb.len <= width;
}

static bool is_unnamed(const struct part *part)
{
	return *part->text == '{' || *part->text == '\'';
}

/*
 * A part without a name of its own is meaningless without its scope. Its operator() is left out: it can only
 * be called that way.
 */
static void put_short(struct strbuf *sb, struct parts *parts, unsigned levels, size_t width)
{
	size_t from = 0, least;

	if (parts->n > 2 && begins(parts->list[parts->n - 1].text, "operator()") &&
	    is_unnamed(&parts->list[parts->n - 2]) && !fits(parts, 0, levels, width))
		parts->n--;
	least = parts->n > 1 && is_unnamed(&parts->list[parts->n - 1]) && width ? 2 : 1;
	while (from + least < parts->n && !fits(parts, from, levels, width))
		from++;
	put_from(sb, parts, from, levels);
}

static void shorten(struct strbuf *sb, const char *name, unsigned levels, size_t width)
{
	cleanup_strbuf struct strbuf unwrapped = STRBUF_INIT;
	struct parts parts;

	if (unwrap(&unwrapped, name))
		shorten(sb, strbuf_str(&unwrapped), levels, width);
	else if (split(name, &parts))
		put_short(sb, &parts, levels, width);
	else
		strbuf_puts(sb, name);
}

void shortname(struct strbuf *sb, const char *name, size_t width)
{
	shorten(sb, name, 0, width);
}

void shortname_arguments(struct strbuf *sb, const char *name, size_t width)
{
	shorten(sb, name, 1, width);
}

/* false: it does not fit, or has lost even the class that it belongs to. */
static bool put_level(struct strbuf *sb, const char *name, unsigned levels, size_t width)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT, whole = STRBUF_INIT, last = STRBUF_INIT;

	shorten(&text, name, levels, width);
	shorten(&whole, name, levels, SIZE_MAX);
	shorten(&last, name, levels, 0);
	if (text.len > width || (text.len < whole.len && text.len == last.len))
		return false;
	strbuf_puts(sb, strbuf_str(&text));
	if (text.err && !sb->err)
		sb->err = text.err;
	return true;
}

void shortname_full(struct strbuf *sb, const char *name, size_t width)
{
	for (unsigned levels = LEVELS_MAX; levels; levels--)
		if (put_level(sb, name, levels, width))
			return;
	shorten(sb, name, 0, width);
}

void shortname_base(struct strbuf *sb, const char *name, bool *templated)
{
	struct parts parts;
	const struct part *last;

	*templated = false;
	if (!split(name, &parts)) {
		strbuf_puts(sb, name);
		return;
	}
	last = &parts.list[parts.n - 1];
	strbuf_append(sb, last->text, last->plain);
	*templated = last->whole > last->plain && last->text[last->whole - 1] == '>';
}
