/* SPDX-License-Identifier: MIT */
#include "trace/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define WINDOWS 4	/* size of the window, as a multiple of @ahead: so bytes are moved rarely, and few */

int source_open(struct source *s, const char *path, size_t ahead)
{
	struct stat st;
	int err;

	*s = (struct source){ .room = WINDOWS * ahead };
	s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (s->fd < 0)
		return -errno;
	if (fstat(s->fd, &st)) {
		err = -errno;
	} else if (S_ISDIR(st.st_mode)) {
		err = -EISDIR;
	} else {
		s->size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
		s->buffer = malloc(s->room);
		s->window = s->buffer;
		err = s->buffer ? 0 : -ENOMEM;
	}
	if (err)
		source_close(s);
	return err;
}

void source_memory(struct source *s, const void *data, size_t n)
{
	*s = (struct source){ .fd = -1, .window = data, .have = n, .size = n, .ended = true };
}

void source_close(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->buffer);
	*s = (struct source){ .fd = -1, .ended = true };
}

static int read_more(struct source *s)
{
	ssize_t got = read(s->fd, s->buffer + s->have, s->room - s->have);

	if (got < 0)
		return errno == EINTR ? 0 : -errno;
	s->have += (size_t)got;
	s->ended = got == 0;
	return 0;
}

ssize_t source_look(struct source *s, size_t n, const uint8_t **p)
{
	if (s->have - s->at < n && !s->ended && s->room - s->at < n) {
		memmove(s->buffer, s->buffer + s->at, s->have - s->at);
		s->passed += s->at;
		s->have -= s->at;
		s->at = 0;
	}
	while (s->have - s->at < n && !s->ended) {
		int err = read_more(s);
		if (err)
			return err;
	}
	*p = s->window + s->at;
	return (ssize_t)(s->have - s->at);
}

void source_resume(struct source *s)
{
	s->ended = s->fd < 0;
}

void source_pass(struct source *s, size_t n)
{
	s->at += n;
}

uint64_t source_at(const struct source *s)
{
	return s->passed + s->at;
}
