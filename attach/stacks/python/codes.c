/* SPDX-License-Identifier: MIT */
#include "attach/stacks/python/codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/stacks/python/pylines.h"
#include "attach/stacks/python/pystrings.h"
#include "base/grow.h"

#define HEADER_MOST 208u
#define LINES_MOST (1u << 18)	/* bytes of a table */
#define CODES_MOST 65536u	/* then all are forgotten */
#define TABLES_MOST (64u << 20)	/* bytes of all tables; likewise */
#define POSITIONS_MOST (1u << 20)	/* likewise */
#define OB_TYPE 8
#define OB_SIZE 16
#define BYTES_DATA 32

struct code {
	taddr addr;
	uint8_t header[HEADER_MOST];	/* as it was; all 0: it could not be read */
	const char *function, *file;
	uint8_t *lines;
	uint32_t nlines, first_line;
	int32_t first_traceable;
	uint64_t checked_ns;
	bool gone;
};

void codes_init(struct codes *c, const struct python_runtime *rt, struct script_places *places,
		int mem)
{
	*c = (struct codes){ .runtime = rt, .places = places, .mem = mem };
	addrmap_init(&c->by_addr, sizeof(uint32_t));
	addrmap_init(&c->by_position, sizeof(uint32_t));
}

void codes_forget(struct codes *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->all[i].lines);
	c->n = 0;
	c->table_bytes = 0;
	addrmap_clear(&c->by_addr);
	addrmap_clear(&c->by_position);
}

void codes_fini(struct codes *c)
{
	codes_forget(c);
	addrmap_fini(&c->by_addr);
	addrmap_fini(&c->by_position);
	free(c->all);
}

/* --- reading a code object --- */

static uint64_t word_of(const struct code *code, uint32_t offset)
{
	uint64_t w;

	memcpy(&w, code->header + offset, sizeof(w));
	return w;
}

static int32_t number_of(const struct code *code, uint32_t offset)
{
	int32_t n;

	memcpy(&n, code->header + offset, sizeof(n));
	return n;
}

/*
 * Is there a code object at @addr? Where one was freed, the first words are those of an allocator: a pointer,
 * or 0, in place of the number of references.
 */
static bool read_header(const struct codes *c, taddr addr, uint8_t *header)
{
	const uint16_t n = c->runtime->layout.code.size;
	uint64_t references, type;

	memset(header, 0, HEADER_MOST);
	if (n > HEADER_MOST || pread(c->mem, header, n, (off_t)addr) != n)
		return false;
	memcpy(&references, header, sizeof(references));
	memcpy(&type, header + OB_TYPE, sizeof(type));
	return references && references <= UINT32_MAX && type == c->runtime->code_type;
}

static void read_lines(struct codes *c, struct code *code)
{
	const taddr at = word_of(code, c->runtime->layout.code.lines);
	uint64_t n;

	if (pread(c->mem, &n, sizeof(n), (off_t)(at + OB_SIZE)) != sizeof(n) || !n || n > LINES_MOST)
		return;
	code->lines = malloc(n);
	if (code->lines && pread(c->mem, code->lines, n, (off_t)(at + BYTES_DATA)) == (ssize_t)n)
		code->nlines = (uint32_t)n;
	c->table_bytes += n;
}

static const char *read_text(struct codes *c, taddr at)
{
	char text[PYSTRINGS_MOST];

	if (!pystrings_read(c->mem, &c->runtime->layout, at, text, sizeof(text)))
		return NULL;
	return script_places_text(c->places, text);
}

static bool same_fields(const struct codes *c, const struct code *code, const uint8_t *now)
{
	const struct layouts_code *l = &c->runtime->layout.code;
	const uint16_t words[] = { l->name, l->filename, l->lines };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (memcmp(code->header + words[i], now + words[i], sizeof(uint64_t)) != 0)
			return false;
	return !memcmp(code->header + l->first_line, now + l->first_line, sizeof(uint32_t));
}

/* All that belongs to it was there when it was read if the code object is still there afterwards. */
static bool read_parts(struct codes *c, struct code *code)
{
	const struct layouts_code *l = &c->runtime->layout.code;
	uint8_t after[HEADER_MOST];

	if (!read_header(c, code->addr, code->header))
		return false;
	code->function = read_text(c, word_of(code, l->name));
	code->file = read_text(c, word_of(code, l->filename));
	code->first_line = (uint32_t)number_of(code, l->first_line);
	code->first_traceable = l->first_traceable ? number_of(code, l->first_traceable) : 0;
	read_lines(c, code);
	return code->function && code->file && read_header(c, code->addr, after) &&
	       same_fields(c, code, after);
}

/* What there is to know of it. If it is no code object, or no longer one, it has a name that says so. */
static void read_code(struct codes *c, struct code *code)
{
	if (read_parts(c, code))
		return;
	code->first_traceable = 0;
	memset(code->header, 0, sizeof(code->header));
	code->function = code->file = script_places_text(c->places, PLACES_GONE);
	code->gone = true;
}

/* --- is it still the same --- */

/* The index of the code object at @addr: known and the same, or read now. -ENOMEM. */
static int find_code(struct codes *c, taddr addr, uint64_t now_ns, uint32_t *index)
{
	const uint32_t *known = addrmap_get(&c->by_addr, addr);
	uint8_t header[HEADER_MOST];

	if (known) {
		struct code *code = &c->all[*known];

		*index = *known;
		if (now_ns < code->checked_ns + CODES_TRUSTED_NS)
			return 0;
		code->checked_ns = now_ns;
		/*
		 * one that was freed, and whose memory is not used again, is still the one that was executed
		 */
		if (!read_header(c, addr, header) || same_fields(c, code, header))
			return 0;
	}
	if (c->n >= CODES_MOST || c->table_bytes >= TABLES_MOST)
		codes_forget(c);
	if (grow_for(&c->all, c->n, &c->size, sizeof(*c->all)))
		return -ENOMEM;
	*index = (uint32_t)c->n;
	c->all[c->n] = (struct code){ .addr = addr, .checked_ns = now_ns };
	read_code(c, &c->all[c->n]);
	c->n++;
	return addrmap_put(&c->by_addr, addr, index);
}

/* --- places --- */

/* Where in the bytecode, in bytes; negative: before the first instruction. */
static int64_t offset_of(const struct codes *c, taddr code, uint64_t at)
{
	const struct layout *l = &c->runtime->layout;

	return l->code.bytecode ? (int64_t)(at - code - l->code.bytecode) : (int64_t)(int32_t)at * l->unit;
}

static uint32_t line_of(const struct codes *c, const struct code *code, int64_t offset)
{
	if (code->gone)
		return 0;
	if (offset < 0 || offset > INT32_MAX)
		return code->first_line;
	return pylines_at(c->runtime->layout.lines, code->lines, code->nlines, code->first_line,
			  (uint32_t)offset);
}

int codes_place(struct codes *c, taddr code, uint64_t at, bool shown, uint64_t now_ns, uint32_t *place)
{
	const int64_t offset = offset_of(c, code, at);
	const struct code *its;
	const uint32_t *known;
	struct script_place p;
	uint32_t index;
	uint64_t key;
	int r = find_code(c, code, now_ns, &index);

	if (r < 0)
		return r;
	if (!shown && offset / 2 < c->all[index].first_traceable)
		return -ENOENT;
	c->gone += c->all[index].gone;
	key = (uint64_t)index << 32 | (uint32_t)offset;
	known = addrmap_get(&c->by_position, key);
	if (known) {
		*place = *known;
		return 0;
	}
	if (addrmap_count(&c->by_position) >= POSITIONS_MOST)
		addrmap_clear(&c->by_position);
	its = &c->all[index];
	p = (struct script_place){ its->function, its->file, line_of(c, its, offset) };
	r = script_places_number(c->places, &p, place);
	return r < 0 ? r : addrmap_put(&c->by_position, key, place);
}
