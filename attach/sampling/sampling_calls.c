/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_calls.h"

#include <string.h>

#include "attach/probes/code/elfslots.h"

enum how { NO_CALL, BY_ADDRESS, BY_SLOT };

/* The module whose code is at @addr; NULL: it is not known, or gone. */
static const struct module *module_at(const struct planting *p, taddr addr)
{
	const struct module *m = modules_find(p->modules, addr);

	return m && !m->gone && m->img ? m : NULL;
}

/* How the call before @ret is made, in which module; @to: the file address of the code or the slot. */
static enum how call_before(const struct planting *p, taddr ret, const struct module **m, taddr *to)
{
	uint8_t code[6];
	int32_t distance;

	*m = module_at(p, ret);
	if (!*m || elfimage_code((*m)->img, ret - (*m)->bias - 6, code, 6) != 6)
		return NO_CALL;
	memcpy(&distance, code + 2, sizeof(distance));
	*to = ret - (*m)->bias + (taddr)(int64_t)distance;
	return code[1] == 0xe8 ? BY_ADDRESS : code[0] == 0xff && code[1] == 0x15 ? BY_SLOT : NO_CALL;
}

bool sampling_calls_is_direct(const struct planting *p, taddr ret)
{
	const struct module *m;
	taddr to;

	return call_before(p, ret, &m, &to) != NO_CALL;
}

/* Is it the code at file address @at of @m, or does that always jump there? */
static bool leads_to(const struct planting *p, const struct module *m, taddr at, taddr function)
{
	return at && (at + m->bias == function ||
		      body_always_jumps_to(m->img, p->decoder, at) + m->bias == function);
}

/* Is @name a name of the function at @function? */
static bool has_name(const struct planting *p, taddr function, const char *name)
{
	const struct module *m = module_at(p, function);
	uint64_t size;
	taddr addr;
	bool ifunc;

	return m && elfimage_find(m->img, name, &addr, &size, &ifunc) == 0 && !ifunc &&
	       addr + m->bias == function;
}

/* A slot without a name leads to a function of the file itself. */
static bool slot_leads_to(const struct planting *p, const struct module *m, taddr slot, taddr function)
{
	size_t n;
	const struct elfslot *slots = elfimage_slots(m->img, &n);

	for (size_t i = 0; i < n; i++) {
		if (slots[i].slot == slot)
			return *slots[i].name ? has_name(p, function, slots[i].name)
					      : leads_to(p, m, slots[i].addr, function);
	}
	return false;
}

bool sampling_calls_goes_to(const struct planting *p, taddr ret, taddr function)
{
	const struct module *m;
	const char *name;
	taddr to;

	switch (call_before(p, ret, &m, &to)) {
	case BY_ADDRESS:
		name = body_plt_name(m->img, p->decoder, to);
		return name ? has_name(p, function, name) : leads_to(p, m, to, function);
	case BY_SLOT:
		return slot_leads_to(p, m, to, function);
	case NO_CALL:
		break;
	}
	return false;
}

bool sampling_calls_always(const struct planting *p, taddr function, taddr ret)
{
	const struct module *m = module_at(p, function);

	return m && body_always_calls(m->img, p->decoder, function - m->bias, ret - m->bias);
}

enum body_result sampling_calls_result(const struct planting *p, taddr ret)
{
	const struct module *m;
	taddr to;

	return call_before(p, ret, &m, &to) == NO_CALL ? BODY_RESULT_UNKNOWN
						       : body_result_at(m->img, p->decoder, ret - m->bias);
}

bool sampling_calls_is_global(const struct planting *p, taddr function)
{
	const struct module *m = module_at(p, function);

	return m && elfimage_is_global(m->img, function - m->bias);
}
