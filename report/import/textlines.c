/* SPDX-License-Identifier: MIT */
/* textlines: see textlines.h. */
#include "report/import/textlines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define BUFFER (4 * TEXTLINES_MAX)

/*
 * Non-blocking only while opening: a FIFO without a writer then is at its end; for a slow writer the reader
 * waits.
 */
static int open_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !(S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)) || fcntl(fd, F_SETFL, 0)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

static int init(struct textlines *t, int fd)
{
	*t = (struct textlines){ .fd = fd, .buf = malloc(BUFFER + 1) };
	if (t->buf)
		return 0;
	textlines_close(t);
	return -ENOMEM;
}

int textlines_open(const char *path, struct textlines *out)
{
	int fd = open_text(path);

	return fd < 0 ? fd : init(out, fd);
}

int textlines_open_memory(const char *text, size_t n, struct textlines *out)
{
	int r = init(out, -1);

	out->data = text;
	out->left = n;
	return r;
}

void textlines_close(struct textlines *t)
{
	free(t->buf);
	t->buf = NULL;
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

static ssize_t read_some(struct textlines *t, char *to, size_t room)
{
	ssize_t got;

	if (t->fd < 0) {
		size_t n = t->left < room ? t->left : room;

		if (n)
			memcpy(to, t->data, n);
		t->data += n;
		t->left -= n;
		return (ssize_t)n;
	}
	do {
		got = read(t->fd, to, room);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Read more, after what the buffer has. Returns the number of bytes; 0 at the end, or if there is no room. */
static ssize_t fill(struct textlines *t)
{
	ssize_t got;

	memmove(t->buf, t->buf + t->at, t->n - t->at);
	t->n -= t->at;
	t->at = 0;
	got = read_some(t, t->buf + t->n, BUFFER - t->n);
	if (got > 0)
		t->n += (size_t)got;
	return got;
}

/* The end of the line that begins at t->at: its newline, the limit, or the end of what there is. */
static int find_end(struct textlines *t, size_t *length, bool *newline)
{
	size_t seen = 0;

	for (;;) {
		size_t n = t->n - t->at, limit = n < TEXTLINES_MAX ? n : TEXTLINES_MAX;
		char *end = memchr(t->buf + t->at + seen, '\n', limit - seen);
		ssize_t got;

		*newline = end != NULL;
		*length = end ? (size_t)(end - (t->buf + t->at)) : limit;
		if (end || limit == TEXTLINES_MAX)
			return 0;
		seen = limit;
		got = fill(t);
		if (got <= 0)
			return (int)got;
	}
}

int textlines_next(struct textlines *t, struct textline *out)
{
	bool newline, skipped;
	size_t length;
	int r;

	do {
		r = find_end(t, &length, &newline);
		if (r < 0)
			return r;
		if (!length && !newline)
			return 0;
		skipped = t->skip;
		t->skip = !newline && length == TEXTLINES_MAX;
		*out = (struct textline){ t->buf + t->at, length, t->number + 1, t->skip,
					  !newline && !t->skip };
		t->at += length + newline;
	} while (skipped);
	t->number++;
	/*
	 * The byte after a line without newline may be part of the next one, so the NUL replaces the line's
	 * last byte.
	 */
	out->n -= !newline;
	out->text[out->n] = '\0';
	return 1;
}
