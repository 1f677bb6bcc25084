/* SPDX-License-Identifier: MIT */
/*
 * import_mtrace: the log of glibc's mtrace().
 *
 *	= Start
 *	@ ./prog:[0x11ed] + 0x556f89b0a2c0 0x7			allocated
 *	@ /lib/libc.so.6:(__strdup+1a)[0x9e9aa] + 0x7fc6 0x6	by a function with a name
 *	@ ./prog:[0x11ce] - 0x556f89b0a2a0			freed
 *	@ ./prog:[0x11df] < 0x556f89b0a2c0			realloc: the old block is gone
 *	@ ./prog:[0x11df] > 0x556f89b0a4c0 0x28			and this is the new one
 *	@ ./prog:[0x123e] ! 0x556f89b0a4f0 0x7fff		realloc failed: the old block is still live
 *
 * The number in brackets is an address in the file, so each file is a module with bias 0. Without a file
 * before it, it is an address in memory. A path may contain any character, so a line is parsed from its end.
 */
#include "report/import/import.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/addrmap.h"
#include "report/import/import_lines.h"
#include "report/import/importer.h"

/* One file of the log, and the call sites in it. */
struct binary {
	uint32_t module;	/* number + 1, or FACT_NONE */
	struct addrmap sites;	/* address -> number of its stack */
};

struct mtrace {
	struct importer im;
	struct binary *binaries;	/* the first is memory outside of all files */
	size_t n, size;
	struct addrmap index;	/* a path in the pool of the ledger -> index */
	struct addrmap overtaken;	/* addresses that were allocated while a block was live there */
};

/* A parsed line. Strings point into it. */
struct event {
	const char *object, *symbol;	/* NULL: not given */
	taddr site, addr;
	uint64_t size;
	char op;
};

/* --- callers --- */

static int add_binary(struct mtrace *m, uint32_t module, size_t *index)
{
	if (m->n == m->size) {
		size_t size = m->size ? 2 * m->size : 16;
		struct binary *v = reallocarray(m->binaries, size, sizeof(*v));

		if (!v)
			return -ENOMEM;
		m->binaries = v;
		m->size = size;
	}
	m->binaries[m->n] = (struct binary){ .module = module };
	addrmap_init(&m->binaries[m->n].sites, sizeof(uint32_t));
	*index = m->n++;
	return 0;
}

static int find_binary(struct mtrace *m, const char *path, size_t *index)
{
	const char *kept = path ? defs_string(&m->im.ledger->defs, path) : NULL;
	const size_t *known = kept ? addrmap_get(&m->index, (uintptr_t)kept) : NULL;
	uint32_t number;
	int r;

	*index = known ? *known : 0;
	if (!path || known)
		return 0;
	r = kept ? importer_module(&m->im, 0, 0, 0, kept, &number) : -ENOMEM;
	if (r == 0)
		r = add_binary(m, number + 1, index);
	return r ? r : addrmap_put(&m->index, (uintptr_t)kept, index);
}

static int site(struct mtrace *m, const struct event *e, uint32_t *stack)
{
	const uint32_t *known;
	size_t index;
	int r = find_binary(m, e->object, &index);

	if (r < 0)
		return r;
	known = addrmap_get(&m->binaries[index].sites, e->site);
	if (known) {
		*stack = *known;
		return 0;
	}
	r = importer_site(&m->im, e->site, m->binaries[index].module, e->symbol, stack);
	return r ? r : addrmap_put(&m->binaries[index].sites, e->site, stack);
}

/* --- lines --- */

static bool is_hex(const char *text, uint64_t *value)
{
	return import_lines_hex(text, text + strlen(text), value);
}

/* " OP ADDRESS [SIZE]", the blank before it already gone. Sizes are written as %#lx: that of 0 is "0". */
static bool parse_call(char *p, struct event *e)
{
	char *size;

	e->op = p[0];
	if (!e->op || !strchr("+-<>!", e->op) || p[1] != ' ')
		return false;
	p += 2;
	size = strchr(p, ' ');
	if (size)
		*size++ = '\0';
	e->addr = e->size = 0;
	if (!is_hex(p, &e->addr) && strcmp(p, "(nil)"))
		return false;
	if (e->op == '-' || e->op == '<')
		return !size;
	return size && (is_hex(size, &e->size) || !strcmp(size, "0"));
}

/* "PATH:(SYMBOL+OFFSET)" or "PATH:", with either missing. */
static bool parse_place(char *p, struct event *e)
{
	size_t n = strlen(p);
	char *open;

	if (n && p[n - 1] == ')') {
		open = strrchr(p, '(');
		if (!open)
			return false;
		p[n - 1] = '\0';
		open[1 + strcspn(open + 1, "+-")] = '\0';
		e->symbol = open[1] ? open + 1 : NULL;
		n = (size_t)(open - p);
	}
	if (n && p[n - 1] != ':')
		return false;
	if (n)
		p[n - 1] = '\0';
	e->object = n > 1 ? p : NULL;
	return true;
}

/* "@ PLACE[ADDRESS] CALL", or the call alone where the caller is not known. */
static bool parse(char *text, struct event *e)
{
	char *close = strrchr(text, ']'), *open;

	*e = (struct event){ 0 };
	if (strncmp(text, "@ ", 2) != 0)
		return parse_call(text, e);
	if (!close || close[1] != ' ')
		return false;
	*close = '\0';
	open = strrchr(text, '[');
	if (!open)
		return false;
	*open = '\0';
	if (!is_hex(open + 1, &e->site) && strcmp(open + 1, "(nil)"))
		return false;
	return parse_place(text + 2, e) && parse_call(close + 2, e);
}

/*
 * With threads: realloc moves a block away, another thread gets the old address, and its line is written
 * before that of the realloc. So the free is of the earlier block, which has been replaced already.
 */
static int give(struct mtrace *m, const struct event *e, uint32_t stack)
{
	struct live_block before;
	int r = 0;

	if (ledger_holds(m->im.ledger, m->im.family, e->addr, &before))
		r = addrmap_put(&m->overtaken, e->addr, NULL);
	return r ? r : importer_alloc(&m->im, e->addr, e->size, stack);
}

static int take_back(struct mtrace *m, const struct event *e, uint32_t stack)
{
	if (e->op == '<' && addrmap_del(&m->overtaken, e->addr, NULL)) {
		m->im.late++;
		return 0;
	}
	return importer_release(&m->im, e->addr, stack);
}

static int take_event(struct mtrace *m, const struct event *e)
{
	uint32_t stack;
	int r;

	if (e->op == '!' || !e->addr) {
		m->im.failed += e->op == '!' || e->op == '+';
		return 0;
	}
	m->im.events += e->op != '<';
	r = site(m, e, &stack);
	if (r < 0)
		return r;
	return e->op == '+' || e->op == '>' ? give(m, e, stack) : take_back(m, e, stack);
}

static int take_line(void *ctx, char *text, size_t n)
{
	struct event e;

	(void)n;
	if (!strcmp(text, "= Start") || !strcmp(text, "= End"))
		return 0;
	return parse(text, &e) ? take_event(ctx, &e) : -EINVAL;
}

/* --- files --- */

static int begin(struct mtrace *m, struct ledger *l)
{
	size_t nowhere;
	int r;

	*m = (struct mtrace){ 0 };
	addrmap_init(&m->index, sizeof(size_t));
	addrmap_init(&m->overtaken, 0);
	r = importer_init(&m->im, l, "mtrace");
	if (r == 0)
		r = add_binary(m, FACT_NONE, &nowhere);
	return r ? r : importer_target(&m->im, 0, NULL);
}

static void end(struct mtrace *m)
{
	importer_fini(&m->im);
	for (size_t i = 0; i < m->n; i++)
		addrmap_fini(&m->binaries[i].sites);
	free(m->binaries);
	addrmap_fini(&m->index);
	addrmap_fini(&m->overtaken);
}

int import_mtrace(const char *const *paths, size_t n, struct ledger *l)
{
	const char *slash = strrchr(paths[0], '/');
	char source[64];
	struct mtrace m;
	int r = begin(&m, l);

	if (r == 0)
		r = import_lines_files(&m.im, paths, n, take_line, &m);
	snprintf(source, sizeof(source), "%zu files", n);
	if (r == 0)
		r = importer_finish(&m.im, n > 1 ? source : slash ? slash + 1 : paths[0]);
	end(&m);
	return r;
}

int import_mtrace_text(const char *text, size_t n, struct ledger *l)
{
	struct textlines lines;
	struct mtrace m;
	int r = begin(&m, l);

	if (r == 0)
		r = textlines_open_memory(text, n, &lines);
	if (r == 0) {
		r = import_lines_read(&m.im, &lines, "text", take_line, &m);
		textlines_close(&lines);
	}
	if (r == 0)
		r = importer_finish(&m.im, "text");
	end(&m);
	return r;
}
