/* SPDX-License-Identifier: MIT */
#include "report/json/json_memory.h"

#include <inttypes.h>

#include "report/json/json.h"

static void put_point(struct strbuf *sb, const char *separator, const char *name,
		      const struct memory_point *p)
{
	json_key(sb, separator, name);
	json_real(sb, "{", "at_s", p->at_us / 1e6);
	json_number(sb, ", ", "anonymous", p->anonymous);
	json_number(sb, ", ", "file", p->file);
	json_number(sb, ", ", "shared", p->shared);
	json_number(sb, ", ", "swapped", p->swapped);
	json_number(sb, ", ", "heap", p->heap);
	strbuf_putc(sb, '}');
}

static void put_process(struct strbuf *sb, const char *separator, const struct summary_memory *m)
{
	put_point(sb, separator, "first", &m->points[0]);
	put_point(sb, ", ", "last", &m->points[m->npoints - 1]);
	json_signed(sb, ", ", "growth", summary_memory_growth(m));
	json_list(sb, ", ", "series");
	for (size_t i = 0; i < m->npoints; i++)
		strbuf_printf(sb, "%s[%.6f, %" PRIu64 "]", i ? ", " : "", m->points[i].at_us / 1e6,
			      m->points[i].anonymous + m->points[i].file + m->points[i].shared);
	strbuf_putc(sb, ']');
}

void json_memory(struct strbuf *sb, const struct summary *s)
{
	const struct summary_memory *own = summary_memory_of_target(s);
	size_t n = 0;

	json_text(sb, ",\n", "runtime", s->runtime);
	if (own) {
		json_key(sb, ",\n", "memory");
		put_process(sb, "{", own);
		json_number(sb, ", ", "explained", summary_memory_explained(s));
		json_number(sb, ", ", "code_copied", s->run.code_copied);
		strbuf_putc(sb, '}');
	} else {
		json_text(sb, ",\n", "memory", NULL);
	}
	json_list(sb, ",\n", "children");
	for (size_t i = 0; i < s->nmemories; i++) {
		if (&s->memories[i] == own)
			continue;
		json_next_line(sb, n++, "  ");
		json_signed(sb, "{", "pid", s->memories[i].pid);
		json_string(sb, ", ", "name", s->memories[i].name);
		put_process(sb, ", ", &s->memories[i]);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}
