/* SPDX-License-Identifier: MIT */
/*
 * naming: see naming.h.
 *
 *	frames without names, by file ──▶ one lookup for all of one file ──▶ a fact for each frame
 *
 * A file may be mapped several times, as several modules; it is read once. File numbers come from a trace, so
 * two modules count as the same file only if path and build id are equal, too.
 */
#include "report/names/naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/statusline.h"
#include "report/names/naming_notes.h"
#include "symbolize/names.h"

#define LIMIT_NS 60000000000ull
#define MEMORY_BYTES (4ull << 30)
#define FILES_MAX 4096	/* a process has some hundreds; a trace may claim any number */

/* A frame that needs names. */
struct wanting {
	uint32_t file;		/* the first module of its file, or DEFS_NONE */
	uint32_t frame;		/* index */
};

struct naming {
	const struct defs *defs;
	const struct naming_files *files;
	const struct naming_options *opt;
	uint32_t *file;		/* by module: the first one of the same file */
	struct wanting *v;	/* by file, then by frame */
	size_t n;
	size_t named;		/* of n, so far */
	struct statusline_work work;
	struct naming_notes notes;
	const char *stopped;	/* why nothing more is looked up, or NULL */
};

/* The frames of one file. */
struct batch {
	struct naming *naming;
	const struct wanting *v;
	bool *named;
	int err;
};

/* The address to look up; for a return address, the call before it. */
static taddr place(const struct defs_frame *f)
{
	return f->exact ? f->pc : f->pc - 1;
}

static void show_progress(struct naming *n)
{
	char text[80];

	n->named++;
	if (!statusline_due(&n->work))
		return;
	snprintf(text, sizeof(text), "names: %zu of %zu", n->named, n->n);
	statusline_show(text);
}

static int name(struct naming *n, uint32_t frame, const struct names_frame *from, size_t count)
{
	struct fact_name all[NAMES_FRAMES_MAX];
	struct fact f = { .kind = MMT_INFO, .info = MMT_NAMES };

	for (size_t i = 0; i < count; i++) {
		all[i] = (struct fact_name){
			.function = from[i].function, .linkage = from[i].linkage, .file = from[i].file,
			.line = (uint32_t)from[i].line, .inlined = from[i].inlined,
		};
	}
	f.names.frame = n->defs->frames[frame].number;
	f.names.all = all;
	f.names.n = (uint32_t)count;
	show_progress(n);
	return n->opt->put(n->opt->ctx, &f);
}

static int name_plainly(struct naming *n, uint32_t frame)
{
	const struct names_frame nameless = { 0 };

	return name(n, frame, &nameless, 1);
}

/* --- which file --- */

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_files(const struct defs_module *a, const struct defs_module *b)
{
	int differs;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	differs = compare_text(a->path, b->path);
	return differs ? differs : compare_text(a->build_id, b->build_id);
}

static int compare_modules(const void *pa, const void *pb, void *ctx)
{
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	const struct defs *d = ctx;
	int differs = compare_files(&d->modules[a], &d->modules[b]);

	return differs ? differs : a < b ? -1 : a > b;
}

static int find_files(struct naming *n)
{
	const struct defs *d = n->defs;
	cleanup_free uint32_t *sorted = calloc(d->nmodules + 1, sizeof(*sorted));

	n->file = calloc(d->nmodules + 1, sizeof(*n->file));
	if (!sorted || !n->file)
		return -ENOMEM;
	for (size_t i = 0; i < d->nmodules; i++)
		sorted[i] = (uint32_t)i;
	qsort_r(sorted, d->nmodules, sizeof(*sorted), compare_modules, (void *)d);
	for (size_t i = 0; i < d->nmodules; i++) {
		bool same = i > 0 && !compare_files(&d->modules[sorted[i - 1]], &d->modules[sorted[i]]);

		n->file[sorted[i]] = same ? n->file[sorted[i - 1]] : sorted[i];
	}
	return 0;
}

static int compare_wanting(const void *pa, const void *pb)
{
	const struct wanting *a = pa, *b = pb;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int find_frames(struct naming *n, const bool *wanted)
{
	const struct defs *d = n->defs;

	n->v = calloc(d->nframes + 1, sizeof(*n->v));
	if (!n->v)
		return -ENOMEM;
	for (size_t i = 0; i < d->nframes; i++) {
		uint32_t module = d->frames[i].module;

		if (d->frames[i].nnames || (wanted && !wanted[i]))
			continue;
		n->v[n->n++] =
			(struct wanting){ module == DEFS_NONE ? DEFS_NONE : n->file[module], (uint32_t)i };
	}
	qsort(n->v, n->n, sizeof(*n->v), compare_wanting);
	return 0;
}

/* --- one file --- */

static const char *path_of(const struct defs_module *m)
{
	return m->path ? m->path : "a file without a name";
}

static void take(void *ctx, size_t i, const struct names_frame *frames, size_t count)
{
	struct batch *b = ctx;

	b->named[i] = true;
	if (!b->err)
		b->err = name(b->naming, b->v[i].frame, frames, count);
}

static int ask(struct naming *n, const struct defs_module *m, int fd, struct batch *b, size_t count,
	       char *why, size_t why_size)
{
	const char *path = m->path && m->path[0] == '/' ? m->path : NULL;
	const struct names_file file = { .fd = fd, .path = path, .root = n->files->root };
	const struct names_options opt = {
		.debuginfod = n->opt->debuginfod, .demangle = true, .stop = n->opt->stop,
		.limit_ns = LIMIT_NS, .memory_bytes = MEMORY_BYTES,
	};
	cleanup_free taddr *addrs = calloc(count, sizeof(*addrs));

	if (!addrs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct defs_frame *f = &n->defs->frames[b->v[i].frame];

		addrs[i] = place(f) - n->defs->modules[f->module].bias;
	}
	return names_resolve(&file, &opt, addrs, count, take, b, why, why_size);
}

/* Add a note on a lookup that failed with @r; not for the vDSO and the like, which are no files. */
static int add_note(struct naming *n, const struct defs_module *m, int r, const char *why)
{
	const char *path = path_of(m);

	if (r == -ECANCELED) {
		n->stopped = "a signal came while names were looked up: not all are there";
		return 0;
	}
	if (path[0] == '[' || (r == 0 && !why[0]))
		return 0;
	return naming_notes_add(&n->notes, r < 0 ? NAMING_NONE : NAMING_PARTLY, path,
				why[0] ? why : strerror(-r));
}

/* The frames for which the lookup gave no answer. */
static int name_rest(struct batch *b, size_t count)
{
	int r = b->err;

	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!b->named[i])
			r = name_plainly(b->naming, b->v[i].frame);
	}
	return r;
}

/* Look up in an open file; notes are first the remark that opening it gave, then the result of reading it. */
static int look_up(struct naming *n, const struct defs_module *m, int fd, const char *remark, struct batch *b,
		   size_t count)
{
	char why[200] = "";
	int r = ask(n, m, fd, b, count, why, sizeof(why)), said = 0;

	log_debug(UNWIND, "%s: %zu addresses%s%s", path_of(m), count, why[0] ? ": " : "", why);
	if (remark[0])
		said = naming_notes_add(&n->notes, NAMING_DOUBTFUL, path_of(m), remark);
	if (r == -ENOMEM)
		return r;
	return said ? said : add_note(n, m, r, why);
}

/* The @count frames at @v: all frames of the file whose first module is v->file. */
static int name_file(struct naming *n, const struct wanting *v, size_t count)
{
	const struct defs_module *m = &n->defs->modules[v->file];
	cleanup_free bool *named = calloc(count, sizeof(*named));
	struct batch b = { .naming = n, .v = v, .named = named };
	char why[200] = "";
	int fd, r = 0;

	if (!named)
		return -ENOMEM;
	if (!n->stopped) {
		fd = n->files->open(n->files->ctx, v->file, why, sizeof(why));
		r = fd < 0 ? add_note(n, m, fd, why) : look_up(n, m, fd, why, &b, count);
		if (fd >= 0 && n->files->close)
			n->files->close(n->files->ctx, v->file, fd);
	}
	return r ? r : name_rest(&b, count);
}

/* --- all --- */

static int name_made_code(struct naming *n, const struct wanting *v, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct names_frame frame = { 0 };

		if (n->files->made_code)
			frame.function =
				n->files->made_code(n->files->ctx, place(&n->defs->frames[v[i].frame]));
		r = name(n, v[i].frame, &frame, 1);
	}
	return r;
}

static int name_all(struct naming *n)
{
	size_t files = 0;
	int r = 0;

	for (size_t i = 0, count; r == 0 && i < n->n; i += count) {
		for (count = 1; i + count < n->n && n->v[i + count].file == n->v[i].file; count++)
			;
		if (n->v[i].file == DEFS_NONE) {
			r = name_made_code(n, &n->v[i], count);
			continue;
		}
		if (files++ == FILES_MAX && !n->stopped)
			n->stopped = "there are too many files: not all names were looked up";
		r = name_file(n, &n->v[i], count);
	}
	return r;
}

static int put_notes(struct naming *n)
{
	struct fact f = { .kind = MMT_INFO, .info = MMT_NOTE };
	int r = naming_notes_put(&n->notes, n->opt->put, n->opt->ctx);

	f.note = n->stopped;
	return r == 0 && n->stopped ? n->opt->put(n->opt->ctx, &f) : r;
}

int naming_run(const struct defs *d, const bool *wanted, const struct naming_files *files,
	       const struct naming_options *opt)
{
	struct naming n = { .defs = d, .files = files, .opt = opt };
	int r = find_files(&n);

	if (r == 0)
		r = find_frames(&n, wanted);
	if (r == 0)
		r = name_all(&n);
	if (r == 0)
		r = put_notes(&n);
	statusline_erase();
	naming_notes_fini(&n.notes);
	free(n.file);
	free(n.v);
	return r;
}
