/* SPDX-License-Identifier: MIT */
#include "attach/scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fdio.h"
#include "report/glob.h"

#define LOOK_AGAIN_NS 1000000000ull
#define COMM_MAX 64

struct scope_thread {
	uint64_t looked_ns;
	bool wanted;
};

void scope_init(struct scope *s, pid_t pid, const struct option_list *threads, const struct option_list *modules)
{
	*s = (struct scope){ .pid = pid, .threads = threads, .modules = modules };
	addrmap_init(&s->by_tid, sizeof(struct scope_thread));
	addrmap_init(&s->by_stack, sizeof(bool));
}

void scope_fini(struct scope *s)
{
	addrmap_fini(&s->by_tid);
	addrmap_fini(&s->by_stack);
}

/* --- threads --- */

/* "" for one that has ended. */
static void read_name(pid_t pid, uint32_t tid, char name[COMM_MAX])
{
	cleanup_free char *text = NULL;
	char path[64];
	size_t n;

	name[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", (int)pid, tid);
	if (read_whole_file(path, COMM_MAX, &text, &n) < 0)
		return;
	snprintf(name, COMM_MAX, "%.*s", (int)strcspn(text, "\n"), text);
}

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

static bool is_wanted(const struct scope *s, uint32_t tid)
{
	char name[COMM_MAX];

	read_name(s->pid, tid, name);
	for (size_t i = 0; i < s->threads->n; i++)
		if (is_number(s->threads->all[i]) ? strtoul(s->threads->all[i], NULL, 10) == tid :
					       glob_matches(s->threads->all[i], name))
			return true;
	return false;
}

bool scope_has_thread(struct scope *s, uint32_t tid, uint64_t now_ns)
{
	struct scope_thread *t;
	bool fresh;

	if (!s->threads->n)
		return true;
	t = addrmap_slot(&s->by_tid, tid, &fresh);
	if (!t) {
		s->out_of_memory = true;
		return true;
	}
	if (fresh || now_ns - t->looked_ns > LOOK_AGAIN_NS) {
		t->wanted = is_wanted(s, tid);
		t->looked_ns = now_ns;
	}
	return t->wanted;
}

/* --- callers --- */

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static const struct defs_frame *caller(const struct defs *d, uint32_t stack)
{
	uint32_t node = d->stacks[stack].node;

	while (node != DEFS_NONE && d->frames[d->nodes[node].frame].skip)
		node = d->nodes[node].caller;
	return node == DEFS_NONE ? NULL : &d->frames[d->nodes[node].frame];
}

static bool is_from(const struct scope *s, const struct defs *d, const struct defs_frame *f)
{
	const char *name = f && f->module != DEFS_NONE ? base_name(d->modules[f->module].path) : NULL;

	for (size_t i = 0; name && i < s->modules->n; i++)
		if (glob_matches(s->modules->all[i], name))
			return true;
	return false;
}

bool scope_has_caller(struct scope *s, const struct defs *d, uint32_t stack)
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
		*wanted = is_from(s, d, caller(d, stack));
	return *wanted;
}
