/* SPDX-License-Identifier: MIT */
/* tracelist: see tracelist.h. */
#include "report/tracefiles/tracelist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "trace/reader.h"

#define FACTS_OF_HEAD 1000	/* if the head is not among so many first facts, there is none */

struct peek {
	struct tracelist_file *file;
	unsigned facts;
	bool damaged;
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* --- one file --- */

/* 1: enough was read. */
static int look(void *ctx, const struct fact *f)
{
	struct peek *p = ctx;

	if (f->kind == MMT_INFO && f->info == MMT_RUN) {
		p->file->known = true;
		p->file->piece = f->run.piece;
		p->file->last = f->run.last > f->run.piece ? f->run.last : f->run.piece;
		memcpy(p->file->id, f->run.id, sizeof(p->file->id));
		return 1;
	}
	return p->damaged || ++p->facts >= FACTS_OF_HEAD;
}

static void see_damage(void *ctx, const struct reader_damage *d)
{
	struct peek *p = ctx;

	(void)d;
	p->damaged = true;
}

/* The file is read again later, so it must be a regular one. */
static int must_be_regular(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -ESPIPE;
}

int tracelist_peek(struct tracelist_file *file)
{
	struct peek p = { .file = file };
	struct reader *r;
	int err = must_be_regular(file->path);

	if (err == 0)
		err = reader_open(file->path, &r);
	if (err == 0) {
		err = reader_run(r, look, see_damage, &p);
		file->tagged = reader_tag(r, &file->tag);
		file->empty = err == 0 && !file->tagged && !p.damaged;
		reader_close(r);
	}
	/* what is no trace is found when the file is read as a whole */
	return err >= 0 || err == -EINVAL || err == -EPROTO ? 0 : err;
}

static int peek_and_log(struct tracelist_file *file)
{
	int err = tracelist_peek(file);

	if (err == -ESPIPE)
		log_error("%s is not a regular file: of several traces each must be one", file->path);
	else if (err < 0)
		log_error_errno(err, "cannot read %s", file->path);
	return err == -ESPIPE ? -EINVAL : err;
}

/* --- all of them --- */

static void leave_out_empty(struct tracelist *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		if (!t->files[i].empty)
			t->files[n++] = t->files[i];
	t->n = n;
}

static int compare(const void *pa, const void *pb)
{
	const struct tracelist_file *a = pa, *b = pb;

	if (a->known != b->known)
		return a->known ? -1 : 1;
	if (a->piece != b->piece)
		return a->piece < b->piece ? -1 : 1;
	return a->given < b->given ? -1 : 1;
}

/* Compares ids; if one file has lost its head, tags. */
static bool same_run(const struct tracelist_file *a, const struct tracelist_file *b)
{
	if (a->known && b->known)
		return memcmp(a->id, b->id, sizeof(a->id)) == 0;
	return !a->tagged || !b->tagged || a->tag == b->tag;
}

static int refuse_others(const struct tracelist *t)
{
	const struct tracelist_file *first = &t->files[0];

	for (size_t i = 1; i < t->n; i++) {
		if (same_run(first, &t->files[i]))
			continue;
		log_error("%s and %s are of different runs", first->path, t->files[i].path);
		log_hint("`mmattach diff OLD NEW` compares two runs; `mmattach merge` makes one trace of "
			 "several");
		return -EINVAL;
	}
	return 0;
}

static int refuse_overlap(const struct tracelist *t)
{
	for (size_t i = 1; i < t->n && t->files[i].known; i++) {
		const struct tracelist_file *a = &t->files[i - 1], *b = &t->files[i];

		if (b->piece > a->last)
			continue;
		if (b->piece)
			log_error("%s and %s both have piece %u of the run", a->path, b->path, b->piece);
		else
			log_error("%s and %s are the same run", a->path, b->path);
		log_hint("give each piece once");
		return -EINVAL;
	}
	return 0;
}

int tracelist_make(const char *const *paths, size_t n, struct tracelist *out)
{
	int r = 0;

	out->n = n;
	out->files = calloc(n + 1, sizeof(*out->files));
	if (!out->files) {
		log_error_errno(ENOMEM, "cannot read the traces");
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		out->files[i] = (struct tracelist_file){
			.path = paths[i], .name = last_part(paths[i]), .given = i,
		};
	if (n < 2)
		return 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = peek_and_log(&out->files[i]);
	if (r < 0)
		return r;
	leave_out_empty(out);
	qsort(out->files, out->n, sizeof(*out->files), compare);
	r = refuse_others(out);
	return r < 0 ? r : refuse_overlap(out);
}

void tracelist_fini(struct tracelist *t)
{
	free(t->files);
	*t = (struct tracelist){ 0 };
}
