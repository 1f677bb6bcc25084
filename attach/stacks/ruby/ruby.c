/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/ruby.h"

#include <errno.h>

#include "attach/stacks/ruby/iseqs.h"
#include "attach/stacks/ruby/rbruntime.h"
#include "attach/stacks/scripts/script_codes.h"

/* The last link is where the array begins to be used, and no frame. */
static bool is_frame(const struct script_chain *c, uint32_t i)
{
	return i + 1 < c->n || c->hit->chain_end != CHAIN_WHOLE;
}

static bool is_of_c(const struct script_chain *c, uint32_t i)
{
	return is_frame(c, i) && chain_link_kind(&c->links[i]) & RB_OF_C;
}

static bool is_of_script(const struct script_chain *c, uint32_t i)
{
	return is_frame(c, i) && !(chain_link_kind(&c->links[i]) & RB_OF_C);
}

/* Others are being made, or are no more than marks. */
static bool executes(const struct script_chain *c, uint32_t i)
{
	return is_of_script(c, i) && c->links[i].code && c->links[i].at;
}

static bool begins(const struct script_chain *c, uint32_t i)
{
	return is_of_script(c, i) && chain_link_kind(&c->links[i]) & RB_FINISH;
}

static int place_of_iseq(const struct script_chain *c, uint32_t i, struct script_codes *codes, uint32_t *out)
{
	const struct chain_link *l = &c->links[i];
	struct script_code *iseq;
	int r = script_codes_find(codes, l->code, RB_ISEQ, c->hit->head.time_ns, &iseq);

	return r < 0 ? r : script_codes_place(codes, iseq, iseqs_position(iseq, l->at), out);
}

/* A method in C is where its caller is: the innermost frame of a script outside of it. */
static int place_of_method(const struct script_chain *c, uint32_t i, struct script_codes *codes,
			   uint32_t *out)
{
	struct script_code *method;
	struct script_place p;
	uint32_t caller;
	int r = script_codes_find(codes, c->links[i].code, RB_METHOD, c->hit->head.time_ns, &method);

	if (r < 0)
		return r;
	if (!iseqs_is_method(method))
		return -ENOENT;
	p.function = method->function;
	while (i < c->n && !executes(c, i))
		i++;
	r = i < c->n ? place_of_iseq(c, i, codes, &caller) : -ENOENT;
	if (r < 0)
		return r;
	p.file = codes->places->all[caller].file;
	p.line = codes->places->all[caller].line;
	return script_places_number(codes->places, &p, out);
}

static int place(const struct script_chain *c, uint32_t i, struct script_codes *codes, uint32_t *out)
{
	if (executes(c, i))
		return place_of_iseq(c, i, codes, out);
	return is_of_c(c, i) && c->links[i].code ? place_of_method(c, i, codes, out) : -ENOENT;
}

const struct script_language ruby_language = {
	.name = "Ruby", .interpreter = "Ruby",
	.find = rb_runtime_find, .locate = rb_runtime_locate,
	.executes = executes, .begins = begins, .place = place,
	.read = iseqs_read, .describe = iseqs_describe, .line = iseqs_line,
};
