/* SPDX-License-Identifier: MIT */
#include "attach/cli/offers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/ruleset.h"
#include "attach/target/linker.h"
#include "packs/packs.h"

/* The first module that has the function of @r, or NULL. */
static const struct module *look_for(const struct modules *ms, const struct rule *r)
{
	for (size_t i = 0; i < modules_count(ms); i++) {
		const struct module *m = modules_at(ms, i);
		char build_id[MODULE_BUILD_ID_TEXT];
		taddr addr;

		if (!m->img || !rule_holds_in(r, m->name, module_build_id(m, build_id)))
			continue;
		if (r->where == WHERE_OFFSET || module_symbol(m, r->name, &addr) == 0)
			return m;
	}
	return NULL;
}

static bool takes(const struct rule *r)
{
	return rule_allocates(r) || r->op == RULE_REF;
}

/* A family that can only free or release is not offered: nothing of it would ever be live. */
static void look_at_family(const struct offers *o, size_t family, struct offer *f)
{
	bool any = false;

	*f = (struct offer){ .family = &o->rules.families[family] };
	for (size_t i = 0; i < o->rules.nrules; i++) {
		const struct rule *r = &o->rules.rules[i];
		const struct module *m =
			r->family == family && !rule_is_scope(r) ? look_for(o->modules, r) : NULL;

		f->found += m != NULL;
		any |= m && takes(r);
		if (m && takes(r) && !f->module)
			f->module = m->name;
	}
	if (!any)
		f->found = 0;
}

/* The allocator comes first; its module is the one that the linker has bound. */
static void put_libc_first(struct offers *o)
{
	const struct module *bound = linker_binds(o->modules, "malloc");

	for (size_t i = 0; i < o->n; i++) {
		struct offer libc = o->all[i];

		if (strcmp(libc.family->name, "libc"))
			continue;
		memmove(&o->all[1], &o->all[0], i * sizeof(libc));
		if (bound)
			libc.module = bound->name;
		o->all[0] = libc;
		return;
	}
}

int offers_find(pid_t pid, struct offers *out)
{
	int r;

	*out = (struct offers){ 0 };
	r = ruleset_packs(&out->rules);
	if (r == 0)
		r = modules_new(pid, &out->modules);
	if (r == 0) {
		out->all = calloc(out->rules.nfamilies + 1, sizeof(*out->all));
		r = out->all ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < out->rules.nfamilies; i++) {
		look_at_family(out, i, &out->all[out->n]);
		out->n += out->all[out->n].found > 0;
	}
	if (r < 0)
		offers_fini(out);
	else
		put_libc_first(out);
	return r;
}

void offers_fini(struct offers *o)
{
	ruleset_fini(&o->rules);
	modules_free(o->modules);
	free(o->all);
}

/* What a pack says of itself in its first line, "# file descriptors: open, socket ...", up to the colon. */
static void put_subject(struct strbuf *sb, const char *pack)
{
	size_t n;
	const struct pack *all = packs_all(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].name, pack) && !strncmp(all[i].text, "# ", 2))
			strbuf_printf(sb, "%.*s", (int)strcspn(all[i].text + 2, ":\n"), all[i].text + 2);
}

void offers_put_what(struct strbuf *sb, const struct rule_family *f)
{
	const bool alone = !strcmp(f->name, f->pack), blocks = !*f->noun || !strcmp(f->noun, "block");

	if (f->ranges)
		strbuf_puts(sb, "memory that the process gets from the kernel");
	else if (f->refs)
		strbuf_printf(sb, "references to %ss", *f->noun ? f->noun : "object");
	else if (blocks)
		strbuf_puts(sb, "blocks of memory");
	else if (alone)
		put_subject(sb, f->pack);
	else
		strbuf_printf(sb, "%ss", f->noun);
	if (!alone)
		strbuf_printf(sb, " (%s)", *f->pack ? f->pack : "your rules");
}
