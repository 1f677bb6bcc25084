/* SPDX-License-Identifier: MIT */
#include "attach/target/unread.h"

#include <string.h>

#include "base/strbuf.h"

#define NAMED 100	/* the most modules named for one reason: the sentence must be readable */

/* A file that is mapped at several addresses counts once. */
static bool is_new(const struct modules *ms, size_t i)
{
	const struct module *m = modules_at(ms, i);

	for (size_t k = 0; k < i; k++) {
		const struct module *other = modules_at(ms, k);

		if (other->unread && other->dev == m->dev && other->ino == m->ino)
			return false;
	}
	return m->unread;
}

static bool is_first_of_reason(const struct modules *ms, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (modules_at(ms, k)->unread &&
		    strcmp(modules_at(ms, k)->why_not, modules_at(ms, i)->why_not) == 0)
			return false;
	return modules_at(ms, i)->unread;
}

/* Report the modules from number @first on that have the same reason. */
static int report_reason(const struct modules *ms, size_t first, void (*put)(void *ctx, const char *sentence),
			 void *ctx)
{
	cleanup_strbuf struct strbuf names = STRBUF_INIT, all = STRBUF_INIT;
	const char *why = modules_at(ms, first)->why_not;
	size_t n = 0;

	for (size_t i = first; i < modules_count(ms); i++) {
		const struct module *m = modules_at(ms, i);

		if (!is_new(ms, i) || strcmp(m->why_not, why) != 0)
			continue;
		if (n++ < NAMED)
			strbuf_printf(&names, "%s%s", n > 1 ? ", " : "", m->path);
	}
	strbuf_printf(&all, "%zu %s could not be read (%s), so no function of %s was found: %s", n,
		      n == 1 ? "module" : "modules", why, n == 1 ? "it" : "them", strbuf_str(&names));
	if (n > NAMED)
		strbuf_printf(&all, ", and %zu more", n - NAMED);
	if (strbuf_error(&names) || strbuf_error(&all))
		return strbuf_error(&names) ? strbuf_error(&names) : strbuf_error(&all);
	put(ctx, strbuf_str(&all));
	return 0;
}

int unread_tell(const struct modules *ms, void (*put)(void *ctx, const char *sentence), void *ctx)
{
	int r = 0;

	for (size_t i = 0; i < modules_count(ms) && r == 0; i++)
		if (is_first_of_reason(ms, i))
			r = report_reason(ms, i, put, ctx);
	return r;
}
