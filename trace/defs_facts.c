/* SPDX-License-Identifier: MIT */
/* defs_facts: definitions as facts again, as they were read (defs.h): with the run's numbers, not indices. */
#include "trace/defs.h"

static void set_info(struct fact *f, uint32_t info)
{
	*f = (struct fact){ .kind = MMT_INFO, .info = info };
}

void defs_family_fact(const struct defs *d, uint32_t index, struct fact *f)
{
	set_info(f, MMT_FAMILY_NAME);
	f->family_name.number = d->families[index].number;
	f->family_name.name = d->families[index].name;
	f->family_name.noun = d->families[index].noun;
	f->family_name.refs = d->families[index].refs;
	f->family_name.ranges = d->families[index].ranges;
}

void defs_module_fact(const struct defs *d, uint32_t index, struct fact *f)
{
	const struct defs_module *m = &d->modules[index];

	set_info(f, MMT_MODULE);
	f->module.number = m->number;
	f->module.file = m->file;
	f->module.bias = m->bias;
	f->module.lo = m->lo;
	f->module.hi = m->hi;
	f->module.path = m->path;
	f->module.build_id = m->build_id;
}

void defs_frame_fact(const struct defs *d, uint32_t index, struct fact *f)
{
	const struct defs_frame *frame = &d->frames[index];

	set_info(f, MMT_FRAME);
	f->frame.number = frame->number;
	f->frame.module = frame->module == DEFS_NONE ? FACT_NONE : d->modules[frame->module].number + 1;
	f->frame.pc = frame->pc;
	f->frame.exact = frame->exact;
	f->frame.skip = frame->skip;
}

void defs_node_fact(const struct defs *d, uint32_t index, struct fact *f)
{
	const struct defs_node *node = &d->nodes[index];

	set_info(f, MMT_NODE);
	f->node.number = node->number;
	f->node.caller = node->caller == DEFS_NONE ? 0 : d->nodes[node->caller].number;
	f->node.frame = d->frames[node->frame].number;
}

void defs_tag_fact(const struct defs *d, uint32_t index, struct fact *f)
{
	set_info(f, MMT_TAG);
	f->tag.number = d->tags[index].number;
	f->tag.text = d->tags[index].text;
}

void defs_stack_fact(const struct defs *d, uint32_t index, struct fact *f)
{
	const struct defs_stack *stack = &d->stacks[index];

	set_info(f, MMT_STACK);
	f->stack.number = stack->number;
	f->stack.node = stack->node == DEFS_NONE ? 0 : d->nodes[stack->node].number;
	f->stack.end = stack->end;
	f->stack.tag = stack->tag == DEFS_NONE ? FACT_NONE : d->tags[stack->tag].number + 1;
}

void defs_names_fact(const struct defs *d, uint32_t index, struct fact_name *names, struct fact *f)
{
	const struct defs_frame *frame = &d->frames[index];

	for (uint32_t i = 0; i < frame->nnames; i++) {
		const struct defs_name *name = &d->names[frame->names + i];
		names[i] = (struct fact_name){ name->function, name->linkage, name->file, name->line,
					       name->inlined };
	}
	set_info(f, MMT_NAMES);
	f->names.frame = frame->number;
	f->names.all = names;
	f->names.n = frame->nnames;
}
