/* SPDX-License-Identifier: MIT */
/*
 * suppress_entry: see suppress_entry.h.
 *
 * Lines match frames as a glob matches characters: each line means one frame, "..." any number, and only the
 * last "..." reached is ever backtracked to. Valgrind's stacks have one frame more than ours, the allocator's
 * own function. So a stack is tried as it is, and then with such a frame in front, which has all names of the
 * allocator's functions (strdup is one of them where it calls malloc by a jump).
 */
#include "report/suppress/suppress_entry.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/names/shortname.h"
#include "report/suppress/glob.h"

static const char *const allocators[] = {
	"malloc",
	"calloc",
	"realloc",
	"memalign",
	"posix_memalign",
	"aligned_alloc",
	"valloc",
	"pvalloc",
	"reallocarray",
	"strdup",
	"__strdup",
	"strndup",
	"__strndup",
	"wcsdup",
	"_Znwm",
	"_Znam",
	"_ZnwmRKSt9nothrow_t",
	"_ZnamRKSt9nothrow_t",
	"_ZnwmSt11align_val_t",
	"_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t",
	"_ZnamSt11align_val_tRKSt9nothrow_t",
	"operator new(unsigned long)",
	"operator new[](unsigned long)",
	NULL,
};

static const char *const releasers[] = {
	"free",
	"cfree",
	"realloc",
	"_ZdlPv",
	"_ZdaPv",
	"_ZdlPvm",
	"_ZdaPvm",
	"_ZdlPvSt11align_val_t",
	"_ZdaPvSt11align_val_t",
	"_ZdlPvmSt11align_val_t",
	"_ZdaPvmSt11align_val_t",
	"_ZdlPvRKSt9nothrow_t",
	"_ZdaPvRKSt9nothrow_t",
	"operator delete(void*)",
	"operator delete[](void*)",
	NULL,
};

#define ALLOCATOR_FILE "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so"
#define UNKNOWN "???"		/* valgrind's name for an unknown function or file */

struct stack {
	const struct summary_frame *frames;
	size_t n;			/* including the one in front */
	const char *const *front;	/* names of a frame before the others, or NULL */
};

void suppress_entry_fini(struct suppress_entry *e)
{
	for (size_t i = 0; i < e->nlines; i++)
		free(e->lines[i].glob);
	free(e->name);
	free(e->where);
	memset(e, 0, sizeof(*e));
}

static bool means_front(const struct suppress_line *line, const char *const *names)
{
	if (line->kind == SUPPRESS_OBJ)
		return glob_matches(line->glob, ALLOCATOR_FILE);
	for (; line->kind == SUPPRESS_FUN && *names; names++)
		if (glob_matches(line->glob, *names))
			return true;
	return false;
}

static bool means_source(const struct suppress_line *line, const struct summary_frame *f)
{
	if (!f->file || (line->number && line->number != f->line))
		return false;
	return glob_matches(line->glob, f->file) || glob_matches(line->glob, format_base(f->file));
}

/*
 * An inlined function has no symbol, so valgrind names it as DWARF does: without scopes and arguments, "make"
 * or "make<int>". Compilers write template arguments in different ways, so these are not compared.
 */
static bool means_inlined(const char *glob, const char *function)
{
	cleanup_strbuf struct strbuf base = STRBUF_INIT;
	bool templated;

	shortname_base(&base, function, &templated);
	if (base.err)
		return false;
	if (glob_matches(glob, strbuf_str(&base)))
		return true;
	if (strncmp(glob, strbuf_str(&base), base.len))
		return false;
	glob += base.len;
	return *glob == '<' || !strncmp(glob, " <", 2);
}

static bool means_frame(const struct suppress_line *line, const struct summary_frame *f)
{
	switch (line->kind) {
	case SUPPRESS_OBJ:
		return glob_matches(line->glob, f->module ? f->module : UNKNOWN);
	case SUPPRESS_SRC:
		return means_source(line, f);
	default:
		return (f->linkage && glob_matches(line->glob, f->linkage)) ||
		       glob_matches(line->glob, f->function ? f->function : UNKNOWN) ||
		       (f->inlined && f->function && means_inlined(line->glob, f->function));
	}
}

static bool means(const struct suppress_line *line, const struct stack *st, size_t i)
{
	if (i >= st->n)
		return false;
	if (st->front)
		return i ? means_frame(line, &st->frames[i - 1]) : means_front(line, st->front);
	return means_frame(line, &st->frames[i]);
}

/* Do the lines match the beginning of the stack? */
static bool means_stack(const struct suppress_entry *e, const struct stack *st)
{
	size_t line = 0, i = 0, after_any = 0, from = 0;

	while (line < e->nlines) {
		if (e->lines[line].kind == SUPPRESS_ANY) {
			after_any = ++line;
			from = i;
		} else if (means(&e->lines[line], st, i)) {
			line++;
			i++;
		} else if (after_any && from < st->n) {
			line = after_any;
			i = ++from;
		} else {
			return false;
		}
	}
	return true;
}

/* In LeakSanitizer's order, though the order makes no difference. */
static bool pattern_means(const struct suppress_entry *e, const struct summary_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((frames[i].module && glob_finds(e->name, frames[i].module)) ||
		    (frames[i].function && glob_finds(e->name, frames[i].function)) ||
		    (frames[i].file && glob_finds(e->name, frames[i].file)))
			return true;
	return false;
}

bool suppress_entry_means(const struct suppress_entry *e, enum suppress_kind kind, enum verdict verdict,
			  const struct summary_frame *frames, size_t n)
{
	struct stack st = { frames, n, NULL };

	if (!e->kinds[kind] || (kind == SUPPRESS_LEAK && !e->verdicts[verdict]))
		return false;
	if (e->pattern)
		return pattern_means(e, frames, n);
	if (means_stack(e, &st))
		return true;
	st = (struct stack){ frames, n + 1, kind == SUPPRESS_FREE ? releasers : allocators };
	return means_stack(e, &st);
}
