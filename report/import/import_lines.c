/* SPDX-License-Identifier: MIT */
/* import_lines: see import_lines.h. */
#include "report/import/import_lines.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

/* Only the first one gets a note: a file may contain nothing else. */
static int bad_line(struct importer *im, const char *name, const struct textline *line)
{
	if (im->bad++)
		return 0;
	return importer_note(im, "%s:%" PRIu64 ": not a line that %s writes, left out", name, line->number,
			     im->tool);
}

/* The size at its end may have lost digits, or be missing: then an allocation looks like a free. */
static int cut_line(struct importer *im, const char *name)
{
	return importer_note(im, "%s: the last line is cut off, and was left out", name);
}

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r")] == '\0';
}

static int take_line(struct importer *im, const struct textline *line, const char *name,
		     import_lines_take *understand, void *ctx)
{
	int r;

	if (line->cut)
		return cut_line(im, name);
	if (line->too_long || strlen(line->text) != line->n)
		return bad_line(im, name, line);
	if (is_blank(line->text))
		return 0;
	r = understand(ctx, line->text, line->n);
	if (r == -EINVAL)
		return bad_line(im, name, line);
	im->good += r == 0;
	return r;
}

int import_lines_read(struct importer *im, struct textlines *t, const char *name, import_lines_take *line,
		      void *ctx)
{
	uint64_t before = im->good;
	struct textline at;
	int r;

	while ((r = textlines_next(t, &at)) == 1) {
		r = take_line(im, &at, name, line, ctx);
		if (r < 0)
			return r;
	}
	if (r == 0 && t->number && im->good == before)
		r = -EINVAL;
	return r;
}

static int read_file(struct importer *im, const char *path, import_lines_take *line, void *ctx)
{
	struct textlines t;
	int r = textlines_open(path, &t);

	if (r < 0) {
		log_error_errno(r, "cannot read %s", path);
		return r;
	}
	r = import_lines_read(im, &t, path, line, ctx);
	textlines_close(&t);
	if (r == -EINVAL)
		log_error("%s is not a file that %s writes: none of its lines is", path, im->tool);
	else if (r < 0)
		log_error_errno(r, "cannot import %s", path);
	return r;
}

int import_lines_files(struct importer *im, const char *const *paths, size_t n, import_lines_take *line,
		       void *ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = read_file(im, paths[i], line, ctx);
	if (r == 0 && !im->good) {
		log_error("there is nothing in %s%s", paths[0], n > 1 ? " and the others" : "");
		return -EINVAL;
	}
	return r;
}

bool import_lines_hex(const char *text, const char *end, uint64_t *value)
{
	uint64_t v = 0;

	if (end - text < 3 || end - text > 18 || text[0] != '0' || text[1] != 'x')
		return false;
	for (const char *p = text + 2; p < end; p++) {
		unsigned char c = (unsigned char)*p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (c - 'a' + 10);
		else
			return false;
	}
	*value = v;
	return true;
}
