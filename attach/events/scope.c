/* SPDX-License-Identifier: MIT */
#include "attach/events/scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/options.h"
#include "attach/target/modules.h"
#include "base/fdio.h"
#include "report/ledger/ledger.h"
#include "report/names/wrappers.h"
#include "report/suppress/glob.h"

#define READ_AGAIN_NS 1000000000ull
#define COMM_MAX 64
#define WRAPPERS_MAX 32	/* frames at the front of a stack that may be wrappers */

struct scope_thread {
	uint64_t read_ns;
	enum scope_answer wanted;
};

void scope_init(struct scope *s, pid_t pid, const struct modules *mapped, const struct option_list *threads,
		const struct option_list *modules)
{
	*s = (struct scope){ .pid = pid, .mapped = mapped, .threads = threads, .modules = modules };
	addrmap_init(&s->by_tid, sizeof(struct scope_thread));
	addrmap_init(&s->by_stack, sizeof(bool));
}

void scope_fini(struct scope *s)
{
	addrmap_fini(&s->by_tid);
	addrmap_fini(&s->by_stack);
}

/* --- threads --- */

/* false: the thread has ended. */
static bool read_name(pid_t pid, uint32_t tid, char name[COMM_MAX])
{
	cleanup_free char *text = NULL;
	char path[64];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", (int)pid, tid);
	if (read_whole_file(path, COMM_MAX, &text, &n) < 0)
		return false;
	snprintf(name, COMM_MAX, "%.*s", (int)strcspn(text, "\n"), text);
	return true;
}

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

static enum scope_answer is_wanted(const struct scope *s, uint32_t tid)
{
	enum scope_answer otherwise = SCOPE_NO;
	char name[COMM_MAX];
	bool named = read_name(s->pid, tid, name);

	for (size_t i = 0; i < s->threads->n; i++) {
		if (is_number(s->threads->all[i])) {
			if (strtoul(s->threads->all[i], NULL, 10) == tid)
				return SCOPE_YES;
		} else if (!named) {
			otherwise = SCOPE_UNKNOWN;
		} else if (glob_matches(s->threads->all[i], name)) {
			return SCOPE_YES;
		}
	}
	return otherwise;
}

enum scope_answer scope_has_thread(struct scope *s, uint32_t tid, uint64_t now_ns)
{
	enum scope_answer now;
	struct scope_thread *t;
	bool fresh;

	if (!s->threads->n)
		return SCOPE_YES;
	t = addrmap_slot(&s->by_tid, tid, &fresh);
	if (!t) {
		s->out_of_memory = true;
		return SCOPE_YES;
	}
	if (fresh || now_ns - t->read_ns > READ_AGAIN_NS) {
		now = is_wanted(s, tid);
		/* if it has ended since, the answer for its last name stays */
		if (fresh || now != SCOPE_UNKNOWN)
			t->wanted = now;
		t->read_ns = now_ns;
	}
	return t->wanted;
}

void scope_thread_end(struct scope *s, uint32_t tid)
{
	addrmap_del(&s->by_tid, tid, NULL);
}

/* --- callers --- */

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* The function of the frame, by the symbols of the file. NULL: not known. */
static const char *function_of(const struct scope *s, const struct defs_frame *f)
{
	taddr addr = f->exact ? f->pc : f->pc - 1;
	const struct module *m = s->mapped ? modules_find(s->mapped, addr) : NULL;
	struct code_range range;

	return m && !m->gone && m->img ? elfimage_symbol_over(m->img, addr - m->bias, &range) : NULL;
}

/* The first frame that is not a wrapper's. NULL: the stack is empty. */
static const struct defs_frame *caller(const struct scope *s, const struct ledger *l, uint32_t stack)
{
	const struct defs *d = &l->defs;
	const struct defs_frame *frames[WRAPPERS_MAX];
	struct summary_frame named[WRAPPERS_MAX];
	size_t n = 0;

	for (uint32_t node = d->stacks[stack].node; node != DEFS_NONE && n < WRAPPERS_MAX;
	     node = d->nodes[node].caller) {
		const struct defs_frame *f = &d->frames[d->nodes[node].frame];

		named[n] = (struct summary_frame){
			.pc = f->pc, .module = f->module == DEFS_NONE ? NULL : d->modules[f->module].path,
			.function = function_of(s, f), .wrapper = f->skip,
		};
		frames[n++] = f;
	}
	wrappers_mark(named, n, l->skips, l->nskips);
	return n ? frames[wrappers_count(named, n)] : NULL;
}

static bool is_from(const struct scope *s, const struct defs *d, const struct defs_frame *f)
{
	const char *name = f && f->module != DEFS_NONE ? base_name(d->modules[f->module].path) : NULL;

	for (size_t i = 0; name && i < s->modules->n; i++)
		if (glob_matches(s->modules->all[i], name))
			return true;
	return false;
}

bool scope_has_caller(struct scope *s, const struct ledger *l, uint32_t stack)
{
	bool fresh, *wanted;

	if (!s->modules->n)
		return true;
	wanted = addrmap_slot(&s->by_stack, stack, &fresh);
	if (!wanted) {
		s->out_of_memory = true;
		return true;
	}
	if (fresh)
		*wanted = is_from(s, &l->defs, caller(s, l, stack));
	return *wanted;
}
