/* SPDX-License-Identifier: MIT */
#include "attach/naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "symbolize/names.h"
#include "symbolize/perfmap.h"

#define LIMIT_NS 60000000000ull
#define MEMORY_BYTES (4ull << 30)

struct named {
	struct summary_frame *frames;
	size_t n;
};

struct naming {
	const struct stacks *stacks;
	const struct modules *modules;
	const struct targetfs *fs;
	const struct naming_options *opt;
	struct summary *summary;
	struct named *named;	/* by frame number; frames NULL: not wanted */
	size_t n;
};

/* One file's share of the frames. */
struct batch {
	struct naming *naming;
	uint32_t *frames;
	taddr *addrs;
	size_t n;
};

static void hex(const uint8_t *bytes, size_t n, char *buf)
{
	for (size_t i = 0; i < n; i++)
		sprintf(buf + 2 * i, "%02x", bytes[i]);
	buf[2 * n] = '\0';
}

static const struct module *module_of(const struct naming *n, uint32_t frame)
{
	uint32_t module = n->stacks->frames[frame].module;

	return module == STACKS_NO_MODULE ? NULL : modules_at(n->modules, module);
}

static bool is_exact(const struct naming *n, uint32_t frame)
{
	return n->stacks->frames[frame].pc & UNWIND_EXACT;
}

/* Where it stands; for a return address the call is before it. */
static taddr place(const struct naming *n, uint32_t frame)
{
	taddr pc = n->stacks->frames[frame].pc & ~UNWIND_EXACT;

	return is_exact(n, frame) ? pc : pc - 1;
}

/* @frame without names: what can be said of it in any case. */
static struct summary_frame plain(struct naming *n, uint32_t frame)
{
	const struct module *m = module_of(n, frame);
	struct summary_frame f = { .pc = n->stacks->frames[frame].pc & ~UNWIND_EXACT };
	char build_id[2 * sizeof(m->build_id) + 1];

	if (!m)
		return f;
	hex(m->build_id, m->build_id_len, build_id);
	f.module = summary_string(n->summary, m->path);
	f.build_id = summary_string(n->summary, build_id);
	f.offset = f.pc - m->bias;
	return f;
}

static void name(struct naming *n, uint32_t frame, const struct names_frame *names, size_t count)
{
	struct named *to = &n->named[frame];
	struct summary_frame base = plain(n, frame);

	free(to->frames);
	to->n = 0;
	to->frames = calloc(count, sizeof(*to->frames));
	if (!to->frames) {
		n->summary->err = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		to->frames[i] = base;
		to->frames[i].function = summary_string(n->summary, names[i].function);
		to->frames[i].file = summary_string(n->summary, names[i].file);
		to->frames[i].line = names[i].line;
		to->frames[i].inlined = names[i].inlined;
	}
	to->n = count;
}

static void take(void *ctx, size_t i, const struct names_frame *names, size_t count)
{
	struct batch *b = ctx;

	name(b->naming, b->frames[i], names, count);
}

/* --- files --- */

static bool same_file(const struct module *a, const struct module *b)
{
	return a->img == b->img;
}

/* All wanted frames in the file of @m, which several modules may have mapped. */
static void gather(struct naming *n, const struct module *m, struct batch *b)
{
	b->n = 0;
	for (uint32_t f = 0; f < n->n; f++) {
		const struct module *its = n->named[f].n ? module_of(n, f) : NULL;

		if (!its || !same_file(its, m))
			continue;
		b->frames[b->n] = f;
		b->addrs[b->n++] = place(n, f) - its->bias;
	}
}

/* false: to be stopped. */
static bool name_file(struct naming *n, const struct module *m, struct batch *b)
{
	const struct names_file file = {
		.fd = elfimage_fd(m->img), .path = m->path, .root = n->fs->root,
	};
	const struct names_options opt = {
		.debuginfod = n->opt->debuginfod, .demangle = true, .stop = n->opt->stop, .limit_ns = LIMIT_NS, .memory_bytes = MEMORY_BYTES,
	};
	char why[200] = "";
	int r;

	gather(n, m, b);
	if (!b->n)
		return true;
	r = names_resolve(&file, &opt, b->addrs, b->n, take, b, why, sizeof(why));
	log_debug(UNWIND, "%s: %zu addresses%s%s", m->path, b->n, why[0] ? ": " : "", why);
	if (r == -ECANCELED)
		summary_note(n->summary, "a signal came while names were looked up: not all are there");
	else if (r < 0)
		summary_note(n->summary, "no names for %s: %s", m->path, why[0] ? why : strerror(-r));
	else if (why[0])
		summary_note(n->summary, "names for %s are not complete: %s", m->path, why);
	return r != -ECANCELED;
}

static bool first_of_its_file(const struct naming *n, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (same_file(modules_at(n->modules, j), modules_at(n->modules, i)))
			return false;
	return true;
}

static int name_files(struct naming *n)
{
	cleanup_free uint32_t *frames = calloc(n->n + 1, sizeof(*frames));
	cleanup_free taddr *addrs = calloc(n->n + 1, sizeof(*addrs));
	struct batch b = { .naming = n, .frames = frames, .addrs = addrs };

	if (!frames || !addrs)
		return -ENOMEM;
	for (size_t i = 0; i < modules_count(n->modules); i++) {
		const struct module *m = modules_at(n->modules, i);

		if (m->img && first_of_its_file(n, i) && !name_file(n, m, &b))
			break;
	}
	return 0;
}

/* --- code that the target made itself --- */

static bool any_without_file(const struct naming *n)
{
	for (uint32_t f = 0; f < n->n; f++)
		if (n->named[f].n && !module_of(n, f))
			return true;
	return false;
}

static void name_made_code(struct naming *n)
{
	struct perfmap map;
	int r;

	if (!any_without_file(n))
		return;
	r = targetfs_read_perfmap(n->fs, &map);
	if (r < 0 && r != -ENOENT)
		summary_note(n->summary, "no names for code made at run time: its map, /tmp/perf-%d.map, %s",
			     (int)n->fs->inner_pid, r == -EFBIG ? "is too large" : "is not to be trusted or cannot be read");
	if (r < 0)
		return;
	for (uint32_t f = 0; f < n->n; f++) {
		struct names_frame frame = { 0 };

		if (!n->named[f].n || module_of(n, f))
			continue;
		frame.function = perfmap_find(&map, place(n, f));
		if (frame.function)
			name(n, f, &frame, 1);
	}
	perfmap_fini(&map);
}

/* --- all --- */

static void name_plainly(struct naming *n, const bool *wanted)
{
	const struct names_frame nameless = { 0 };

	for (uint32_t f = 0; f < n->n; f++)
		if (wanted[f])
			name(n, f, &nameless, 1);
}

int naming_new(const struct stacks *st, const struct modules *ms, const struct targetfs *fs, const bool *wanted,
	       const struct naming_options *opt, struct summary *s, struct naming **out)
{
	struct naming *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	*n = (struct naming){ .stacks = st, .modules = ms, .fs = fs, .opt = opt, .summary = s, .n = st->nframes };
	n->named = calloc(n->n + 1, sizeof(*n->named));
	r = n->named ? 0 : -ENOMEM;
	if (r == 0) {
		name_plainly(n, wanted);
		r = name_files(n);
	}
	if (r < 0) {
		naming_free(n);
		return r;
	}
	name_made_code(n);
	*out = n;
	return 0;
}

void naming_free(struct naming *n)
{
	if (!n)
		return;
	for (size_t i = 0; n->named && i < n->n; i++)
		free(n->named[i].frames);
	free(n->named);
	free(n);
}

size_t naming_frames(const struct naming *n, uint32_t frame, const struct summary_frame **frames)
{
	*frames = n->named[frame].frames;
	return n->named[frame].n;
}
