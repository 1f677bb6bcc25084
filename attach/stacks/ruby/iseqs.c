/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/iseqs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/stacks/ruby/rblines.h"
#include "attach/stacks/ruby/rbobjects.h"
#include "attach/stacks/ruby/rbsymbols.h"
#include "base/grow.h"

#define ISEQS_MOST 65536u	/* then all are forgotten */
#define POSITIONS_MOST (1u << 20)	/* likewise */
#define BODY_MOST 192u
#define BODY_WORDS 4		/* in the body: how many words of instructions there are, after 4 bytes */
#define BODY_CODE 8		/* the instructions */
#define METHOD_ID 32		/* in what defines a method */
#define UNNAMED "(method in C)"

/* In both kinds of objects: the body, or what defines the method. */
enum { HEAD_FLAGS, HEAD_UNUSED, HEAD_BODY, HEAD_WORDS };

struct iseq {
	taddr addr;
	uint32_t type;			/* RB_ISEQ, RB_METHOD */
	taddr body;
	uint8_t bytes[BODY_MOST];	/* of the body of an iseq */
	const char *function, *file;	/* file NULL: of a method */
	uint64_t checked_ns;
	bool gone;
};

void iseqs_init(struct iseqs *q, const struct rb_runtime *rt, struct script_places *places, int mem)
{
	*q = (struct iseqs){ .runtime = rt, .places = places, .mem = mem };
	addrmap_init(&q->by_addr, sizeof(uint32_t));
	addrmap_init(&q->by_position, sizeof(uint32_t));
}

void iseqs_forget(struct iseqs *q)
{
	q->n = 0;
	addrmap_clear(&q->by_addr);
	addrmap_clear(&q->by_position);
}

void iseqs_fini(struct iseqs *q)
{
	addrmap_fini(&q->by_addr);
	addrmap_fini(&q->by_position);
	free(q->all);
}

/* --- reading --- */

static uint64_t word_of(const struct iseq *i, uint32_t offset)
{
	uint64_t w;

	memcpy(&w, i->bytes + offset, sizeof(w));
	return w;
}

static uint32_t number_of(const struct iseq *i, uint32_t offset)
{
	uint32_t n;

	memcpy(&n, i->bytes + offset, sizeof(n));
	return n;
}

/* What is at @i->addr now. false: not an object of its type. */
static bool read_head(const struct iseqs *q, struct iseq *i)
{
	const uint16_t n = q->runtime->layout.body.size;
	uint64_t head[HEAD_WORDS];

	if (!rb_read(q->mem, i->addr, head, sizeof(head)) || (head[HEAD_FLAGS] & RB_INTERNAL_TYPE) != i->type)
		return false;
	i->body = head[HEAD_BODY];
	return i->type != RB_ISEQ || (n <= BODY_MOST && rb_read(q->mem, i->body, i->bytes, n));
}

static bool is_same(const struct iseqs *q, const struct iseq *a, const struct iseq *b)
{
	const struct rb_layout_body *l = &q->runtime->layout.body;

	return a->body == b->body && word_of(a, BODY_CODE) == word_of(b, BODY_CODE) &&
	       word_of(a, l->path) == word_of(b, l->path) && word_of(a, l->label) == word_of(b, l->label);
}

/* Another object at its address, or none? */
static bool has_changed(const struct iseqs *q, const struct iseq *i)
{
	struct iseq now = { .addr = i->addr, .type = i->type };

	return !read_head(q, &now) || !is_same(q, i, &now);
}

static const char *read_text(struct iseqs *q, taddr at)
{
	char text[RB_TEXT_MOST];

	if (!rb_read_string(q->mem, &q->runtime->layout, at, text, sizeof(text)))
		return NULL;
	return script_places_text(q->places, text);
}

/* A path is a string, or an array of the one that was given and the real one. */
static const char *read_path(struct iseqs *q, taddr at)
{
	uint64_t first;

	return read_text(q, rb_read_element(q->mem, at, 0, &first) ? first : at);
}

static const char *read_method(struct iseqs *q, const struct iseq *i)
{
	const struct rb_runtime *rt = q->runtime;
	char name[RB_TEXT_MOST];
	uint64_t id;

	if (!rb_read_word(q->mem, i->body + METHOD_ID, &id))
		return NULL;
	if (!rb_symbols_name(q->mem, &rt->layout, rt->symbols, id, name, sizeof(name)))
		return script_places_text(q->places, UNNAMED);
	return script_places_text(q->places, name);
}

/* All that belongs to it was there when it was read if the object is still there afterwards. */
static bool read_parts(struct iseqs *q, struct iseq *i)
{
	const struct rb_layout_body *l = &q->runtime->layout.body;

	if (!read_head(q, i))
		return false;
	if (i->type == RB_METHOD) {
		i->function = read_method(q, i);
		return i->function && !has_changed(q, i);
	}
	i->function = read_text(q, word_of(i, l->label));
	i->file = read_path(q, word_of(i, l->path));
	return i->function && i->file && !has_changed(q, i);
}

/* The object of type @type at @addr: known and the same, or read now. -ENOMEM. */
static int find(struct iseqs *q, taddr addr, uint32_t type, uint64_t now_ns, uint32_t *index)
{
	const uint32_t *known = addrmap_get(&q->by_addr, addr);
	struct iseq *i;

	if (known && q->all[*known].type == type) {
		i = &q->all[*known];
		*index = *known;
		if (now_ns < i->checked_ns + ISEQS_TRUSTED_NS)
			return 0;
		i->checked_ns = now_ns;
		if (!i->gone && !has_changed(q, i))
			return 0;
	}
	if (q->n >= ISEQS_MOST)
		iseqs_forget(q);
	if (grow_for(&q->all, q->n, &q->size, sizeof(*q->all)))
		return -ENOMEM;
	*index = (uint32_t)q->n;
	i = &q->all[q->n++];
	*i = (struct iseq){ .addr = addr, .type = type, .checked_ns = now_ns };
	if (!read_parts(q, i)) {
		i->gone = true;
		i->function = i->file = script_places_text(q->places, PLACES_GONE);
	}
	return addrmap_put(&q->by_addr, addr, index);
}

/* --- places --- */

/* Which word of the instructions; the one before the next one is executed, as Ruby itself has it. */
static uint32_t position_of(const struct iseq *i, taddr pc)
{
	const uint64_t word = (pc - word_of(i, BODY_CODE)) / 8;

	if (i->gone || word > number_of(i, BODY_WORDS))
		return UINT32_MAX;
	return word ? (uint32_t)word - 1 : 0;
}

/* 0: it is not there any more. */
static uint32_t line_of(const struct iseqs *q, const struct iseq *i, uint32_t position)
{
	const struct rb_layout_body *l = &q->runtime->layout.body;
	const struct rb_lines lines = { word_of(i, l->lines), number_of(i, l->nlines), word_of(i, l->index) };
	uint32_t line;

	if (position == UINT32_MAX)
		return 0;
	line = rb_lines_at(q->mem, &lines, position);
	return has_changed(q, i) ? 0 : line;
}

int iseqs_place(struct iseqs *q, taddr iseq, taddr pc, uint64_t now_ns, uint32_t *place)
{
	const uint32_t *known;
	const struct iseq *its;
	struct script_place p;
	uint32_t index;
	uint64_t key;
	int r = find(q, iseq, RB_ISEQ, now_ns, &index);

	if (r < 0)
		return r;
	its = &q->all[index];
	q->gone += its->gone;
	key = (uint64_t)index << 32 | position_of(its, pc);
	known = addrmap_get(&q->by_position, key);
	if (known) {
		*place = *known;
		return 0;
	}
	if (addrmap_count(&q->by_position) >= POSITIONS_MOST)
		addrmap_clear(&q->by_position);
	p = (struct script_place){ its->function, its->file, line_of(q, its, (uint32_t)key) };
	r = script_places_number(q->places, &p, place);
	return r < 0 ? r : addrmap_put(&q->by_position, key, place);
}

bool iseqs_is_method(struct iseqs *q, taddr method)
{
	const uint32_t *known = addrmap_get(&q->by_addr, method);
	uint64_t flags;

	if (known && q->all[*known].type == RB_METHOD && !q->all[*known].gone)
		return true;
	return method && rb_read_word(q->mem, method, &flags) && (flags & RB_INTERNAL_TYPE) == RB_METHOD;
}

int iseqs_method(struct iseqs *q, taddr method, uint32_t caller, uint64_t now_ns, uint32_t *place)
{
	struct script_place p;
	uint32_t index;
	int r = find(q, method, RB_METHOD, now_ns, &index);

	if (r < 0)
		return r;
	q->gone += q->all[index].gone;
	p = (struct script_place){ q->all[index].function, q->places->all[caller].file, q->places->all[caller].line };
	return script_places_number(q->places, &p, place);
}
