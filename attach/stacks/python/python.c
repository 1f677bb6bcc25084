/* SPDX-License-Identifier: MIT */
#include "attach/stacks/python/python.h"

#include <errno.h>
#include <string.h>

#include "attach/stacks/python/codes.h"
#include "attach/stacks/python/runtime.h"
#include "attach/stacks/scripts/script_codes.h"

#define OWNED_BY_GENERATOR 1
#define OWNED_BY_C_STACK 3

static const struct layout *layout_of(const struct script_chain *c)
{
	return &python_runtime_of(c->runtime)->layout;
}

/* A frame of no code, behind the outermost of a call. */
static bool is_shim(const struct script_chain *c, uint32_t i)
{
	return layout_of(c)->entry == LAYOUTS_ENTRY_SHIM &&
	       (chain_link_kind(&c->links[i]) & 0xff) == OWNED_BY_C_STACK;
}

/* Is it a generator's? Its first instruction is never one that is not shown. */
static bool is_generator(const struct script_chain *c, uint32_t i)
{
	const uint16_t kind = chain_link_kind(&c->links[i]);

	if (layout_of(c)->entry == LAYOUTS_ENTRY_FLAG)
		return kind >> 8 == OWNED_BY_GENERATOR;
	return (kind & 0xff) == OWNED_BY_GENERATOR;
}

static bool executes(const struct script_chain *c, uint32_t i)
{
	return !is_shim(c, i);
}

static bool begins(const struct script_chain *c, uint32_t i)
{
	switch (layout_of(c)->entry) {
	case LAYOUTS_ENTRY_EACH:
		return true;
	case LAYOUTS_ENTRY_FLAG:
		return chain_link_kind(&c->links[i]) & 0xff;
	case LAYOUTS_ENTRY_SHIM:
		return is_shim(c, i);
	}
	return true;
}

static int place(const struct script_chain *c, uint32_t i, struct script_codes *codes, uint32_t *out)
{
	const struct python_runtime *rt = python_runtime_of(c->runtime);
	struct script_code *code;
	int64_t offset;
	int r;

	if (is_shim(c, i))
		return -ENOENT;
	r = script_codes_find(codes, c->links[i].code, 0, c->hit->head.time_ns, &code);
	if (r < 0)
		return r;
	offset = codes_offset(rt, &c->links[i]);
	/* as the interpreter's own tracebacks have it */
	if (!is_generator(c, i) && codes_has_not_begun(rt, code, offset))
		return -ENOENT;
	return script_codes_place(codes, code, codes_position(offset), out);
}

/* --- what each call has on the C stack --- */

static taddr word_of_slice(const struct record_hit *hit, taddr addr)
{
	const uint64_t at = addr - hit->regs.rsp;
	taddr word = 0;

	if (addr && hit->slice_len >= sizeof(word) && at <= hit->slice_len - sizeof(word))
		memcpy(&word, hit->slice + at, sizeof(word));
	return word;
}

static taddr next_shim(const struct script_chain *c, uint32_t from)
{
	for (uint32_t i = from; i < c->n; i++)
		if (is_shim(c, i))
			return chain_link_addr(&c->links[i]);
	return 0;
}

static taddr entry(const struct script_chain *c, uint32_t next, taddr previous)
{
	if (layout_of(c)->entry == LAYOUTS_ENTRY_SHIM)
		return next_shim(c, next);
	if (!next)
		return c->hit->chain_head;
	return previous ? word_of_slice(c->hit, previous + layout_of(c)->outer_entry) : 0;
}

const struct script_language python_language = {
	.name = "Python", .interpreter = "CPython",
	.find = python_runtime_find, .locate = python_runtime_locate,
	.executes = executes, .begins = begins, .entry = entry, .place = place,
	.read = codes_read, .describe = codes_describe, .line = codes_line,
};
