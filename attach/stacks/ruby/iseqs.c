/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/iseqs.h"

#include "attach/stacks/ruby/rblines.h"
#include "attach/stacks/ruby/rbobjects.h"
#include "attach/stacks/ruby/rbruntime.h"
#include "attach/stacks/ruby/rbsymbols.h"

#define METHOD_ID 32		/* in what defines a method */
#define UNNAMED "(method in C)"
#define IS_NO_METHOD ""

/* The bytes of a code object: the head of the object, and of an iseq the body. */
#define HEAD_FLAGS 0		/* only those of the type */
#define HEAD_BODY 16		/* where the body is, or what defines the method */
#define HEAD 24
#define BODY(offset) ((uint16_t)(HEAD + (offset)))
#define NWORDS BODY(4)		/* how many words of instructions there are, in 4 bytes; */
#define CODE BODY(8)		/* and where they are */

void iseqs_identity(const struct rb_layout *l, uint16_t identity[SCRIPT_IDENTITY])
{
	identity[0] = HEAD_FLAGS;
	identity[1] = HEAD_BODY;
	identity[2] = CODE;
	identity[3] = BODY(l->body.path);
	identity[4] = BODY(l->body.label);
}

/* Frames in C have other objects in the place of a method, too: so any one is read. */
bool iseqs_read(const struct script_runtime *rt, struct script_code *code)
{
	const uint16_t n = rb_runtime_of(rt)->layout.body.size;
	uint64_t type;

	if (n > sizeof(code->bytes) - HEAD || !script_read(rt->mem, code->addr, code->bytes, HEAD))
		return false;
	type = script_code_word(code, HEAD_FLAGS) & RB_INTERNAL_TYPE;
	memcpy(code->bytes + HEAD_FLAGS, &type, sizeof(type));
	if (code->kind == RB_METHOD)
		return true;
	return type == RB_ISEQ &&
	       script_read(rt->mem, script_code_word(code, HEAD_BODY), code->bytes + HEAD, n);
}

static const char *read_text(const struct rb_runtime *rt, struct script_places *places, taddr at)
{
	char text[RB_TEXT_MOST];

	if (!rb_read_string(rt->base.mem, &rt->layout, at, text, sizeof(text)))
		return NULL;
	return script_places_text(places, text);
}

/* A path is a string, or an array of the one that was given and the real one. */
static const char *read_path(const struct rb_runtime *rt, struct script_places *places, taddr at)
{
	uint64_t first;

	return read_text(rt, places, rb_read_element(rt->base.mem, at, 0, &first) ? first : at);
}

static const char *read_method(const struct rb_runtime *rt, struct script_places *places, taddr definition)
{
	const int mem = rt->base.mem;
	char name[RB_TEXT_MOST];
	uint64_t id;

	if (!script_read_word(mem, definition + METHOD_ID, &id))
		return NULL;
	if (!rb_symbols_name(mem, &rt->layout, rt->symbols, id, name, sizeof(name)))
		return script_places_text(places, UNNAMED);
	return script_places_text(places, name);
}

bool iseqs_describe(const struct script_runtime *base, struct script_places *places, struct script_code *code)
{
	const struct rb_runtime *rt = rb_runtime_of(base);
	const struct rb_layout_body *l = &rt->layout.body;

	if (script_code_word(code, HEAD_FLAGS) != code->kind) {
		code->function = script_places_text(places, IS_NO_METHOD);
		return code->function;
	}
	if (code->kind == RB_METHOD) {
		code->function = read_method(rt, places, script_code_word(code, HEAD_BODY));
		return code->function;
	}
	code->function = read_text(rt, places, script_code_word(code, BODY(l->label)));
	code->file = read_path(rt, places, script_code_word(code, BODY(l->path)));
	return code->function && code->file;
}

bool iseqs_is_method(const struct script_code *code)
{
	return code->kind == RB_METHOD && !code->gone && code->function[0];
}

bool iseqs_first_word(int mem, taddr addr, taddr pc, uint64_t *out)
{
	struct script_code iseq = { .addr = addr };
	taddr code;

	if (!script_read(mem, addr, iseq.bytes, HEAD) ||
	    (script_code_word(&iseq, HEAD_FLAGS) & RB_INTERNAL_TYPE) != RB_ISEQ ||
	    !script_read(mem, script_code_word(&iseq, HEAD_BODY), iseq.bytes + HEAD, CODE + 8 - HEAD))
		return false;
	code = script_code_word(&iseq, CODE);
	return (pc - code) % 8 == 0 && (pc - code) / 8 <= (uint32_t)script_code_number(&iseq, NWORDS) &&
	       script_read_word(mem, code, out);
}

/* --- lines --- */

/* The one before the next one is executed, as Ruby itself has it. */
uint32_t iseqs_position(const struct script_code *iseq, taddr pc)
{
	const uint64_t word = (pc - script_code_word(iseq, CODE)) / 8;

	if (word > (uint32_t)script_code_number(iseq, NWORDS))
		return UINT32_MAX;
	return word ? (uint32_t)word - 1 : 0;
}

uint32_t iseqs_line(const struct script_runtime *rt, const struct script_code *iseq, uint32_t position)
{
	const struct rb_layout_body *l = &rb_runtime_of(rt)->layout.body;
	const struct rb_lines lines = {
		script_code_word(iseq, BODY(l->lines)), (uint32_t)script_code_number(iseq, BODY(l->nlines)),
		script_code_word(iseq, BODY(l->index)),
	};

	return position == UINT32_MAX ? 0 : rb_lines_at(rt->mem, &lines, position);
}
