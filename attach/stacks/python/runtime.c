/* SPDX-License-Identifier: MIT */
#include "attach/stacks/python/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/stacks/python/debug_offsets.h"
#include "attach/target/datasyms.h"
#include "base/log.h"

#define VERSION_RELEASED 0xc0u	/* the last byte of a version: candidates and releases */
#define INTERPRETERS 64		/* looked at */
#define THREADS 4096
/* Where in glibc's thread descriptor, which begins at pthread_self(), thread-specific values may lie. */
#define SPECIFIC_FROM 0x200
#define SPECIFIC_TO 0x900

static bool read_at(int mem, taddr addr, void *buf, size_t n)
{
	return pread(mem, buf, n, (off_t)addr) == (ssize_t)n;
}

static bool read_word(int mem, taddr addr, uint64_t *out)
{
	return read_at(mem, addr, out, sizeof(*out));
}

/* --- which version --- */

static bool data_of(const struct module *m, const char *name, taddr *out)
{
	if (!m->img || !elfimage_elf(m->img) || !datasyms_find(elfimage_elf(m->img), name, out))
		return false;
	*out += m->bias;
	return true;
}

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

	if (!data_of(m, "Py_Version", &at))
		return version_of_name(m->name);
	return read_at(mem, at, &version, sizeof(version)) ? version : 0;
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

static bool find_eval(const struct module *m, struct code_range *out)
{
	uint64_t size;
	bool ifunc;

	if (elfimage_find(m->img, "_PyEval_EvalFrameDefault", &out->lo, &size, &ifunc) != 0 || !size)
		return false;
	out->lo += m->bias;
	out->hi = out->lo + size;
	return true;
}

static void complete(struct python_runtime *rt, int mem, char *why, size_t n)
{
	uint64_t words[DEBUG_OFFSETS_WORDS];

	if (!read_at(mem, rt->runtime, words, sizeof(words)))
		snprintf(why, n, "its table of offsets could not be read");
	else
		debug_offsets_take(words, &rt->layout, why, n);
}

static int check(const struct module *m, int mem, struct python_runtime *rt, char *why, size_t n)
{
	const uint32_t version = version_of(m, mem);
	const struct layout *l = layouts_find((uint16_t)(version >> 16));
	char reason[80] = "";

	write_version(version, rt->version, sizeof(rt->version));
	if (!l)
		snprintf(reason, sizeof(reason), "frames of this version are not known");
	else if ((version & 0xf0) < VERSION_RELEASED)
		snprintf(reason, sizeof(reason), "it is no release");
	else if (!find_eval(m, &rt->eval) || !data_of(m, "PyCode_Type", &rt->code_type))
		snprintf(reason, sizeof(reason), "the symbols of its file are incomplete");
	if (l)
		rt->layout = *l;
	if (!reason[0] && l->describes_itself)
		complete(rt, mem, reason, sizeof(reason));
	if (!reason[0])
		return 0;
	snprintf(why, n, "CPython %s in %s: %s", rt->version, m->name, reason);
	return -ENOTSUP;
}

int python_runtime_find(const struct modules *ms, size_t *from, int mem, struct python_runtime *out,
			char *why, size_t n)
{
	while (*from < modules_count(ms)) {
		const struct module *m = modules_at(ms, (*from)++);

		*out = (struct python_runtime){ 0 };
		if (!m->gone && data_of(m, "_PyRuntime", &out->runtime))
			return check(m, mem, out, why, n);
	}
	return -ENOENT;
}

/* --- the states of its threads --- */

/* Which of the thread's specific values is @state? 0: none. */
static int32_t slot_of(int mem, taddr self, taddr state)
{
	uint64_t words[(SPECIFIC_TO - SPECIFIC_FROM) / 8];

	if (!read_at(mem, self + SPECIFIC_FROM, words, sizeof(words)))
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

		if (!read_word(mem, state + l->chain.owner, &self))
			return 0;
		slot = self ? slot_of(mem, self, state) : 0;
		if (slot)
			return slot;
		if (!read_word(mem, state + l->next_thread, &state))
			return 0;
	}
	return 0;
}

int python_runtime_locate(struct python_runtime *rt, int mem)
{
	struct layout *l = &rt->layout;
	uint64_t interpreter, state;

	if (!read_word(mem, rt->runtime + l->interpreters, &interpreter))
		return -EAGAIN;
	for (int i = 0; interpreter && i < INTERPRETERS; i++) {
		if (read_word(mem, interpreter + l->threads, &state))
			l->chain.slot = slot_of_list(l, mem, state);
		if (l->chain.slot)
			return 0;
		if (!read_word(mem, interpreter + l->next_interpreter, &interpreter))
			break;
	}
	return -EAGAIN;
}
