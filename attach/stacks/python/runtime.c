/* SPDX-License-Identifier: MIT */
#include "attach/stacks/python/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/stacks/python/debug_offsets.h"

#define VERSION_RELEASED 0xc0u	/* the last byte of a version: candidates and releases */
#define EVALUATES "_PyEval_EvalFrameDefault"
#define INTERPRETERS 64		/* looked at */
#define THREADS 4096
/* Where in glibc's thread descriptor, which begins at pthread_self(), thread-specific values may lie. */
#define SPECIFIC_FROM 0x200
#define SPECIFIC_TO 0x900

/* --- which version --- */

/* Before 3.11 nothing in the file but its name says which it is: python3.9, libpython3.10.so.1.0. */
static uint32_t version_of_name(const char *name)
{
	const char *at = strstr(name, "python3.");
	char *end;
	unsigned long minor = at ? strtoul(at + strlen("python3."), &end, 10) : 0;

	return at && end > at + strlen("python3.") && minor < 11 ? 0x030000f0u | (uint32_t)minor << 16 : 0;
}

/* As PY_VERSION_HEX; 0: not known. */
static uint32_t version_of(const struct module *m, int mem)
{
	uint32_t version = 0;
	taddr at;

	if (!script_data_of(m, "Py_Version", &at))
		return version_of_name(m->name);
	return script_read(mem, at, &version, sizeof(version)) ? version : 0;
}

static void write_version(uint32_t version, char *buf, size_t n)
{
	if (!version)
		snprintf(buf, n, "of no version");
	else if (version < 0x030b0000)
		snprintf(buf, n, "%u.%u", version >> 24, version >> 16 & 0xff);
	else
		snprintf(buf, n, "%u.%u.%u", version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
}

/* --- the interpreter --- */

static void complete(struct python_runtime *rt, int mem, char *why, size_t n)
{
	uint64_t words[DEBUG_OFFSETS_WORDS];

	if (!script_read(mem, rt->runtime, words, sizeof(words)))
		snprintf(why, n, "its table of offsets could not be read");
	else
		debug_offsets_take(words, &rt->layout, why, n);
}

static int check(const struct module *m, int mem, struct python_runtime *rt, char *why, size_t n)
{
	const uint32_t version = version_of(m, mem);
	const struct layout *l = layouts_find((uint16_t)(version >> 16));
	char reason[80] = "";

	write_version(version, rt->base.version, sizeof(rt->base.version));
	if (!l)
		snprintf(reason, sizeof(reason), "frames of this version are not known");
	else if ((version & 0xf0) < VERSION_RELEASED)
		snprintf(reason, sizeof(reason), "it is no release");
	else if (!script_loop_of(m, EVALUATES, &rt->base.loop) ||
		 !script_data_of(m, "PyCode_Type", &rt->code_type))
		snprintf(reason, sizeof(reason), "the symbols of its file are incomplete");
	if (l)
		rt->layout = *l;
	if (!reason[0] && l->describes_itself)
		complete(rt, mem, reason, sizeof(reason));
	if (!reason[0])
		return 0;
	snprintf(why, n, "CPython %s in %s: %s", rt->base.version, m->name, reason);
	return -ENOTSUP;
}

void python_runtime_lay_out(struct python_runtime *rt)
{
	const struct layouts_code *l = &rt->layout.code;
	const uint16_t identity[SCRIPT_IDENTITY] = {
		l->name, l->filename, l->lines, l->first_line, l->first_line,
	};

	rt->base.chain = rt->layout.chain;
	rt->base.has_entries = rt->layout.entry != LAYOUTS_ENTRY_EACH;
	memcpy(rt->base.identity, identity, sizeof(identity));
}

int python_runtime_find(struct script_runtime *base, const struct module *m, int mem, char *why, size_t n)
{
	struct python_runtime *rt = (void *)base;
	int r;

	*rt = (struct python_runtime){ .base.mem = mem };
	if (!script_data_of(m, "_PyRuntime", &rt->runtime))
		return -ENOENT;
	r = check(m, mem, rt, why, n);
	if (r == 0)
		python_runtime_lay_out(rt);
	return r;
}

int python_runtime_started(const struct module *m, int mem)
{
	struct python_runtime rt;
	uint64_t interpreter;
	char why[120];
	int r = python_runtime_find(&rt.base, m, mem, why, sizeof(why));

	if (r == 0 && !script_read_word(mem, rt.runtime + rt.layout.interpreters, &interpreter))
		r = -EIO;
	return r < 0 ? r : interpreter != 0;
}

/* --- the states of its threads --- */

/* Which of the thread's specific values is @state? 0: none. */
static int32_t slot_of(int mem, taddr self, taddr state)
{
	uint64_t words[(SPECIFIC_TO - SPECIFIC_FROM) / 8];

	if (!script_read(mem, self + SPECIFIC_FROM, words, sizeof(words)))
		return 0;
	for (size_t i = 0; i < sizeof(words) / 8; i++)
		if (words[i] == state)
			return (int32_t)(SPECIFIC_FROM + 8 * i);
	return 0;
}

/* The first thread of the list that has one. */
static int32_t slot_of_list(const struct layout *l, int mem, taddr state)
{
	for (int i = 0; state && i < THREADS; i++) {
		uint64_t self;
		int32_t slot;

		if (!script_read_word(mem, state + l->chain.owner, &self))
			return 0;
		slot = self ? slot_of(mem, self, state) : 0;
		if (slot)
			return slot;
		if (!script_read_word(mem, state + l->next_thread, &state))
			return 0;
	}
	return 0;
}

int python_runtime_locate(struct script_runtime *base, const struct module *m)
{
	const struct python_runtime *rt = python_runtime_of(base);
	const struct layout *l = &rt->layout;
	uint64_t interpreter, state;

	(void)m;
	if (!script_read_word(base->mem, rt->runtime + l->interpreters, &interpreter))
		return -EAGAIN;
	for (int i = 0; interpreter && i < INTERPRETERS; i++) {
		if (script_read_word(base->mem, interpreter + l->threads, &state))
			base->chain.slot = slot_of_list(l, base->mem, state);
		if (base->chain.slot)
			return 0;
		if (!script_read_word(base->mem, interpreter + l->next_interpreter, &interpreter))
			break;
	}
	return -EAGAIN;
}
