/* SPDX-License-Identifier: MIT */
#include "report/names/expand.h"

#include <errno.h>
#include <stdlib.h>

static size_t count_of(const struct defs_frame *f)
{
	return f->nnames ? f->nnames : 1;
}

static struct summary_frame plain(const struct defs *d, const struct defs_frame *f)
{
	struct summary_frame out = { .pc = f->pc, .exact = f->exact, .wrapper = f->skip };
	const struct defs_module *m = f->module == DEFS_NONE ? NULL : &d->modules[f->module];

	if (m) {
		out.module = m->path;
		out.build_id = m->build_id;
		out.offset = f->pc - m->bias;
	}
	return out;
}

static size_t expand_frame(const struct defs *d, const struct defs_frame *f, struct summary_frame *out)
{
	out[0] = plain(d, f);
	for (uint32_t i = 0; i < f->nnames; i++) {
		const struct defs_name *n = &d->names[f->names + i];

		out[i] = out[0];
		out[i].function = n->function;
		out[i].linkage = n->linkage;
		out[i].file = n->file;
		out[i].line = (int)n->line;
		out[i].inlined = n->inlined;
	}
	return count_of(f);
}

int expand_path(const struct defs *d, const uint32_t *path, uint32_t n, struct summary_frame **out,
		size_t *count)
{
	struct summary_frame *frames;
	size_t total = 0;

	n = expand_frames_within(d, path, n, EXPAND_MAX);
	for (uint32_t i = 0; i < n; i++)
		total += count_of(&d->frames[path[i]]);
	frames = calloc(total + 1, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	*count = 0;
	for (uint32_t i = 0; i < n; i++)
		*count += expand_frame(d, &d->frames[path[i]], &frames[*count]);
	*out = frames;
	return 0;
}

uint32_t expand_frames_within(const struct defs *d, const uint32_t *path, uint32_t n, size_t shown)
{
	size_t total = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		total += count_of(&d->frames[path[i]]);
		if (total > shown)
			break;
	}
	return i;
}

enum summary_stack_end expand_end(uint8_t end)
{
	static const enum summary_stack_end ends[] = {
		[MMT_END_WHOLE] = STACK_WHOLE, [MMT_END_CUT] = STACK_CUT, [MMT_END_LOST] = STACK_LOST,
		[MMT_END_DEEP] = STACK_DEEP, [MMT_END_ELSEWHERE] = STACK_ELSEWHERE,
	};

	return end < sizeof(ends) / sizeof(ends[0]) ? ends[end] : STACK_LOST;
}

enum summary_stack_end expand_path_end(const struct defs *d, const uint32_t *path, uint32_t n, uint8_t end)
{
	return expand_frames_within(d, path, n, EXPAND_MAX) < n ? STACK_DEEP : expand_end(end);
}

int expand_stack(const struct defs *d, uint32_t stack, struct stack_view *out)
{
	cleanup_free uint32_t *path = NULL;
	uint32_t n;

	*out = (struct stack_view){ .end = STACK_WHOLE };
	if (stack == DEFS_NONE)
		return 0;
	n = defs_path(d, stack, NULL, 0);
	path = calloc(n + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	defs_path(d, stack, path, n);
	out->end = expand_path_end(d, path, n, d->stacks[stack].end);
	return expand_path(d, path, n, &out->frames, &out->depth);
}
