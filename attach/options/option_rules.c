/* SPDX-License-Identifier: MIT */
/*
 * option_rules: each of these options becomes lines of a rule file (rules/rulefile.h). They are
 * parsed at once, so that an error can name the option; ruleset.c
 * uses the lines later.
 */
#include "attach/options/option_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/option_arg.h"
#include "attach/rules/rulefile.h"

/* Add @line to @lines, and parse all of them. -EINVAL with @why filled: @lines are as before. */
static int add_line(struct strbuf *lines, const char *line, struct rulefile_error *why)
{
	struct ruleset rs = { 0 };
	size_t before = lines->len;
	int ret;

	strbuf_puts(lines, line);
	strbuf_putc(lines, '\n');
	if (strbuf_error(lines))
		return -ENOMEM;
	ret = ruleset_add_text(&rs, "", NULL, strbuf_str(lines), lines->len, why);
	ruleset_fini(&rs);
	if (ret)
		lines->s[lines->len = before] = '\0';
	return ret;
}

int option_probe(struct options *o, const char *arg, struct usage_error *err)
{
	struct rulefile_error why;
	int ret = add_line(&o->what.probes, arg, &why);

	if (ret != -EINVAL)
		return ret;
	usage_refuse(err, "--probe '%s': %s (column %zu)", arg, why.message, why.column);
	return usage_advise(err, "for example: --probe 'alloc my_alloc size=arg1' --probe 'free my_free'");
}

int option_probes(struct options *o, const char *arg, struct usage_error *err)
{
	(void)err;
	return option_add(&o->what.probe_files, arg);
}

int option_family(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg || *arg == ',' || arg[strlen(arg) - 1] == ',' || strstr(arg, ",,")) {
		usage_refuse(err, "--family '%s': a name is empty", arg);
		return usage_advise(err, "`mmattach probes` lists the families; for example --family "
					 "libc,fd");
	}
	return option_add(&o->what.families, arg);
}

/* --growth means: --family growth, and nothing else (options_check.c). */
int option_growth(struct options *o, const char *arg, struct usage_error *err)
{
	(void)arg;
	(void)err;
	o->what.growth = true;
	return option_add(&o->what.families, "growth");
}

/* --- scopes: a rule of one word and a function --- */

static int add_scope(struct options *o, const char *verb, const char *arg, struct usage_error *err)
{
	cleanup_strbuf struct strbuf line = STRBUF_INIT;
	size_t prefix = strlen(verb) + 1;
	struct rulefile_error why;
	int ret;

	strbuf_printf(&line, "%s %s", verb, arg);
	ret = strbuf_error(&line) ? -ENOMEM : add_line(&o->what.rules, strbuf_str(&line), &why);
	if (ret != -EINVAL)
		return ret;
	usage_refuse(err, "--%s '%s': %s (column %zu)", verb, arg, why.message,
		     why.column > prefix ? why.column - prefix : 1);
	return usage_advise(err, "write the name of a function, 0xADDRESS or MODULE+0xOFFSET");
}

int option_from(struct options *o, const char *arg, struct usage_error *err)
{
	return add_scope(o, "from", arg, err);
}

int option_until(struct options *o, const char *arg, struct usage_error *err)
{
	return add_scope(o, "until", arg, err);
}

int option_in(struct options *o, const char *arg, struct usage_error *err)
{
	return add_scope(o, "in", arg, err);
}

/* --- references --- */

/* REF:UNREF[:argN][:count=+OFF/BYTES][:birth=F,F...], taken apart. Words point into the argument. */
struct ref_option {
	const char *ref, *unref;
	int ref_len, unref_len;
	char object;			/* '1' to '6' */
	long offset;
	unsigned long bytes;		/* of the count; 0: none was given */
	const char *births;
	int births_len;
};

static bool parse_count(const char *text, size_t len, struct ref_option *r)
{
	char copy[48], *end;

	if (len >= sizeof(copy) || (*text != '+' && *text != '-'))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	errno = 0;
	r->offset = strtol(copy, &end, 0);
	if (errno || *end != '/')
		return false;
	return option_number(end + 1, 8, &r->bytes) && r->bytes && !(r->bytes & (r->bytes - 1));
}

static bool parse_part(const char *text, size_t len, struct ref_option *r)
{
	if (len == 4 && !memcmp(text, "arg", 3) && text[3] >= '1' && text[3] <= '6') {
		r->object = text[3];
		return true;
	}
	if (len > 6 && !memcmp(text, "count=", 6) && !r->bytes)
		return parse_count(text + 6, len - 6, r);
	if (len > 6 && !memcmp(text, "birth=", 6) && !r->births) {
		r->births = text + 6;
		r->births_len = (int)len - 6;
		return true;
	}
	return false;
}

static int parse_ref(const char *arg, struct ref_option *r, struct usage_error *err)
{
	size_t len = strcspn(arg, ":");
	const char *at = arg + len;

	*r = (struct ref_option){ .ref = arg, .ref_len = (int)len, .object = '1' };
	if (*at == ':') {
		r->unref = ++at;
		r->unref_len = (int)strcspn(at, ":");
		at += r->unref_len;
	}
	if (!r->ref_len || !r->unref_len) {
		usage_refuse(err, "--ref '%s': must name two functions", arg);
		return usage_advise(err, "one that acquires a reference and one that releases it: --ref "
					 "my_get:my_put");
	}
	while (*at++ == ':') {
		len = strcspn(at, ":");
		if (!parse_part(at, len, r)) {
			usage_refuse(err, "--ref '%s': not understood: '%.*s'", arg, (int)len, at);
			return usage_advise(err, "after REF:UNREF there can be argN (1 to 6), "
						 "count=+OFFSET/BYTES (1, 2, 4, 8) and birth=FUNCTION,...");
		}
		at += len;
	}
	return 0;
}

/* The family gets the name of REF, as far as it fits. */
static void write_family(const struct ref_option *r, struct strbuf *lines)
{
	int len = r->ref_len < 31 ? r->ref_len : 31;

	strbuf_printf(lines, "family %.*s refs", len, r->ref);
}

static void write_count(const struct ref_option *r, const char *object, struct strbuf *lines)
{
	if (r->bytes)
		strbuf_printf(lines, " count=*u%lu(%s%+ld)", r->bytes * 8, object, r->offset);
}

static void write_births(const struct ref_option *r, struct strbuf *lines)
{
	int at = 0;

	while (at < r->births_len) {
		int len = (int)strcspn(r->births + at, ",:");

		strbuf_printf(lines, "\nref %.*s obj=ret", len, r->births + at);
		write_count(r, "ret", lines);
		at += len + 1;
	}
}

int option_ref(struct options *o, const char *arg, struct usage_error *err)
{
	cleanup_strbuf struct strbuf lines = STRBUF_INIT;
	char object[] = "arg1";
	struct rulefile_error why;
	struct ref_option r;
	int ret = parse_ref(arg, &r, err);

	if (ret)
		return ret;
	object[3] = r.object;
	write_family(&r, &lines);
	strbuf_printf(&lines, "\nref %.*s obj=%s", r.ref_len, r.ref, object);
	write_count(&r, object, &lines);
	strbuf_printf(&lines, "\nunref %.*s obj=%s", r.unref_len, r.unref, object);
	write_count(&r, object, &lines);
	write_births(&r, &lines);
	ret = strbuf_error(&lines) ? -ENOMEM : add_line(&o->what.rules, strbuf_str(&lines), &why);
	if (ret != -EINVAL)
		return ret;
	usage_refuse(err, "--ref '%s': %s", arg, why.message);
	return usage_advise(err,
			    "for example --ref inode_ref:inode_unref:arg1:count=+0x50/4:birth=inode_new");
}

/* --- which calls --- */

int option_thread(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg)
		return usage_refuse(err, "--thread: the name is empty");
	return option_add(&o->what.threads, arg);
}

int option_module(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg || strchr(arg, '/')) {
		usage_refuse(err, "--module '%s': not the name of a module", arg);
		return usage_advise(err, "write a file's base name, which may contain * and ?: --module "
					 "'libfoo.so*'");
	}
	return option_add(&o->what.modules, arg);
}
