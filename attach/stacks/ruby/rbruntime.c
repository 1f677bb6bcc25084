/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/rbruntime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/stacks/ruby/iseqs.h"
#include "attach/stacks/ruby/rbdata.h"
#include "attach/stacks/ruby/rbloop.h"
#include "attach/stacks/ruby/rbsymbols.h"

#define VM_MAIN_THREAD 40	/* in all versions of the layouts */
#define THREAD_VM 32
#define EXECUTION_THREAD 48
#define STACK_MOST (1u << 27)	/* words */
#define LINK_VALUES 1		/* in a frame: where its values end */
#define FIRST_VALUES 3
/* In glibc's thread descriptor, which begins at pthread_self(). */
#define SELF_BLOCKS 8		/* the thread's blocks of storage, by module: 16 bytes each */
#define SELF_SELF 16
#define BLOCKS_MOST 256
#define SEARCHES_MOST 4
#define STORAGE_MOST 65536u	/* below the descriptor */

/* --- which version --- */

/* The text of ruby_version: 3.1.2. As 0x0301; 0: it is no version. */
static uint16_t read_version(int mem, taddr at, char *text, size_t n)
{
	unsigned long major, minor;
	char *end;

	if (!script_read(mem, at, text, n))
		text[0] = '\0';
	text[n - 1] = '\0';
	major = strtoul(text, &end, 10);
	minor = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
	return major < 256 && minor < 256 && *end == '.' ? (uint16_t)(major << 8 | minor) : 0;
}

static const char *why_not(const struct module *m, int mem, uint16_t version, struct rb_runtime *rt)
{
	const struct rb_layout *l = rb_layouts_find(version);
	int32_t patchlevel = -1;
	taddr at;

	if (!l)
		return "frames of this version are not known";
	rt->layout = *l;
	if (!script_data_of(m, "ruby_patchlevel", &at) ||
	    !script_read(mem, at, &patchlevel, sizeof(patchlevel)) || patchlevel < 0)
		return "it is no release";
	return NULL;
}

/* As far as the file has them. */
static void take_symbols(struct rb_runtime *rt, const struct module *m)
{
	if (!script_loop_of(m, "rb_vm_exec", &rt->base.loop))
		rt->base.loop = (struct code_range){ 0, 0 };
	if (!script_data_of(m, "ruby_current_vm_ptr", &rt->vm))
		rt->vm = 0;
}

int rb_runtime_find(struct script_runtime *base, const struct module *m, int mem, char *why, size_t n)
{
	struct rb_runtime *rt = (void *)base;
	const char *reason;
	uint16_t version;
	taddr at;

	*rt = (struct rb_runtime){ .base.mem = mem };
	if (!script_data_of(m, "ruby_version", &at))
		return -ENOENT;
	version = read_version(mem, at, base->version, sizeof(base->version) - 1);
	reason = why_not(m, mem, version, rt);
	if (!reason) {
		take_symbols(rt, m);
		base->chain = rt->layout.chain;
		iseqs_identity(&rt->layout, base->identity);
		return 0;
	}
	snprintf(why, n, "Ruby %s in %s: %s", version ? base->version : "of no version", m->name, reason);
	return -ENOTSUP;
}

/* --- what its threads execute --- */

struct thread {
	taddr self;		/* pthread_self() */
	taddr execution;
};

/* Is it a thread's descriptor? */
static bool is_self(int mem, taddr self)
{
	uint64_t own;

	return self && script_read_word(mem, self + SELF_SELF, &own) && own == self;
}

/* The first thread of @vm, whose structures refer to each other as they must. */
static bool first_thread(const struct rb_layout *l, int mem, taddr vm, struct thread *out)
{
	uint64_t thread, vm_of_thread, has_id, thread_of_execution;

	if (!vm || !script_read_word(mem, vm + VM_MAIN_THREAD, &thread) ||
	    !script_read_word(mem, thread + THREAD_VM, &vm_of_thread) || vm_of_thread != vm ||
	    !script_read_word(mem, thread + l->execution, &out->execution) || !out->execution ||
	    !script_read_word(mem, out->execution + EXECUTION_THREAD, &thread_of_execution) ||
	    thread_of_execution != thread)
		return false;
	has_id = thread;
	if (l->native && !script_read_word(mem, thread + l->native, &has_id))
		return false;
	return script_read_word(mem, has_id + l->thread_id, &out->self) && is_self(mem, out->self);
}

struct vm_search {
	const struct rb_runtime *rt;
	const struct module *m;
};

/* It is allocated: most of what is searched are pointers into the file, which need not be followed. */
static bool may_be_vm_pointer(const void *arg, const uint64_t *word)
{
	const struct vm_search *s = arg;

	return rb_data_pointer(*word) && (*word < s->m->lo || *word >= s->m->hi);
}

static bool is_vm_pointer(const void *arg, const uint64_t *word)
{
	const struct vm_search *s = arg;
	struct thread t;

	return first_thread(&s->rt->layout, s->rt->base.mem, *word, &t);
}

/* Without its symbol it is known by the thread that it leads to. */
static bool read_vm(const struct rb_runtime *rt, const struct module *m, uint64_t *vm)
{
	const struct vm_search search = { rt, m };
	const struct rb_data_wanted wanted = { 1, may_be_vm_pointer, is_vm_pointer, &search };
	const taddr at = rt->vm ? rt->vm : rb_data_search(m, rt->base.mem, &wanted);

	return at && script_read_word(rt->base.mem, at, vm);
}

/*
 * The last frame of an execution is at the end of its stack, and its values are the first three words there:
 * so the size of frames is as expected.
 */
static bool ends_as_expected(const struct rb_layout *l, int mem, taddr execution)
{
	uint64_t words[3], link[8] = { 0 };
	taddr end;

	if (!script_read(mem, execution + l->chain.array, words, sizeof(words)) || words[1] > STACK_MOST)
		return false;
	end = words[0] + 8 * words[1];
	if (words[2] < words[0] || words[2] >= end || (end - words[2]) % l->chain.stride ||
	    !script_read(mem, end - l->chain.stride, link, l->chain.stride))
		return false;
	return link[LINK_VALUES] == words[0] + 8 * FIRST_VALUES;
}

/* Where the thread's storage below its descriptor begins, as far as any module has some there. */
static taddr storage_of(int mem, taddr self)
{
	uint64_t blocks, n, at;
	taddr lowest = self;

	if (!script_read_word(mem, self + SELF_BLOCKS, &blocks) || !script_read_word(mem, blocks - 16, &n))
		return self;
	for (uint64_t i = 1; i <= n && i < BLOCKS_MOST; i++)
		if (script_read_word(mem, blocks + 16 * i, &at) && at < lowest && self - at <= STORAGE_MOST)
			lowest = at;
	return lowest & ~7ull;
}

/* The only word of the thread's storage that is its execution, as a distance; 0: none, or several. */
static int32_t slot_of(int mem, const struct thread *t)
{
	const taddr from = storage_of(mem, t->self);
	int32_t slot = 0;

	for (taddr at = from; at < t->self; at += 8) {
		uint64_t word;

		if (!script_read_word(mem, at, &word) || word != t->execution)
			continue;
		if (slot)
			return 0;
		slot = -(int32_t)(t->self - at);
	}
	return slot;
}

/* The code of a file never changes, and all of it is searched: so not again for the same, nor many times. */
static bool locate_loop(struct rb_runtime *rt, const struct module *m, taddr execution)
{
	taddr core;

	if (rt->base.loop.hi)
		return true;
	if (rt->searches == SEARCHES_MOST ||
	    rb_loop_core(m, rt->base.mem, &rt->layout, execution, &core) < 0 || core == rt->core)
		return false;
	rt->core = core;
	rt->searches++;
	return rb_loop_caller(m, core, &rt->base.loop) == 0;
}

int rb_runtime_locate(struct script_runtime *base, const struct module *m)
{
	struct rb_runtime *rt = (void *)base;
	struct thread t;
	uint64_t vm;

	base->unfound = NULL;
	if (!read_vm(rt, m, &vm) || !first_thread(&rt->layout, base->mem, vm, &t) ||
	    !ends_as_expected(&rt->layout, base->mem, t.execution))
		return -EAGAIN;
	base->chain.slot = slot_of(base->mem, &t);
	if (!base->chain.slot)
		return -EAGAIN;
	if (!locate_loop(rt, m, t.execution)) {
		base->unfound = "the function that executes them";
		return -EAGAIN;
	}
	rt->symbols = rb_symbols_locate(m, base->mem, &rt->layout);
	return 0;
}
