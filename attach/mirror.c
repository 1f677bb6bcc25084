/* SPDX-License-Identifier: MIT */
#include "attach/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_LEAST 40		/* bytes of the shortest line */
#define TEXT_LIMIT (256u << 20)	/* as in procmaps */

static bool is_kernels(const struct mapping *m)
{
	return !strncmp(m->path, "[v", 2) || !strncmp(m->path, "[uprobes]", 9);
}

enum mirror_how mirror_of(const struct mapping *m)
{
	if (m->perms & MAPPING_SHARED || is_kernels(m))
		return MIRROR_NOT;
	if (!(m->perms & MAPPING_READ))
		return m->ino ? MIRROR_NOT : MIRROR_FORCED;
	if (m->perms & MAPPING_WRITE || !m->ino)
		return MIRROR_ALL;
	return m->perms & MAPPING_EXEC ? MIRROR_NOT : MIRROR_WRITTEN;
}

/* --- reading the list --- */

/* -ENOBUFS if the room is full: whether it was the end is not known then. */
static int read_text(struct mirror *m, size_t *n)
{
	*n = 0;
	if (lseek(m->maps_fd, 0, SEEK_SET) < 0)
		return -errno;
	while (*n + 1 < m->text_room) {
		ssize_t got = read(m->maps_fd, m->text + *n, m->text_room - 1 - *n);

		if (got < 0)
			return -errno;
		if (got == 0) {
			m->text[*n] = '\0';
			return memchr(m->text, '\0', *n) ? -EINVAL : 0;
		}
		*n += got;
	}
	return -ENOBUFS;
}

static void add_range(struct mirror *m, const struct mapping *map)
{
	enum mirror_how how = mirror_of(map);
	struct mirror_range *last = m->nranges ? &m->ranges[m->nranges - 1] : NULL;

	if (how == MIRROR_NOT)
		return;
	if (last && last->hi == map->lo && last->how == how)
		last->hi = map->hi;
	else
		m->ranges[m->nranges++] = (struct mirror_range){ map->lo, map->hi, how };
}

static int parse(struct mirror *m)
{
	char *next = m->text;

	m->nmaps = 0;
	m->nranges = 0;
	while (*next) {
		char *line = next;

		next += strcspn(next, "\n");
		if (*next)
			*next++ = '\0';
		if (m->nmaps == m->maps_room)
			return -ENOBUFS;
		if (procmaps_parse_line(line, &m->maps[m->nmaps]) < 0)
			return -EINVAL;
		add_range(m, &m->maps[m->nmaps++]);
	}
	return m->nmaps ? 0 : -ESRCH;
}

int mirror_read(struct mirror *m)
{
	size_t n;
	int r = read_text(m, &n);

	return r < 0 ? r : parse(m);
}

/* --- room --- */

static void free_room(struct mirror *m)
{
	free(m->text);
	free(m->maps);
	free(m->ranges);
	m->text = NULL;
	m->maps = NULL;
	m->ranges = NULL;
	m->text_room = 0;
	m->maps_room = 0;
}

/* Written to, so that it is there when it is needed. */
static void *populated(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (p)
		memset(p, 1, n * size);
	return p;
}

static int make_room(struct mirror *m, size_t bytes)
{
	size_t n = bytes / LINE_LEAST + 64;

	free_room(m);
	m->text = populated(bytes, 1);
	m->maps = populated(n, sizeof(*m->maps));
	m->ranges = populated(n, sizeof(*m->ranges));
	if (!m->text || !m->maps || !m->ranges) {
		free_room(m);
		return -ENOMEM;
	}
	m->text_room = bytes;
	m->maps_room = n;
	return 0;
}

int mirror_prepare(struct mirror *m)
{
	size_t bytes = m->text_room ? m->text_room : 64u << 10, n = 0;
	int r = -ENOBUFS;

	while (r == -ENOBUFS) {
		if (bytes > TEXT_LIMIT)
			return -EFBIG;
		r = make_room(m, bytes);
		if (r == 0)
			r = read_text(m, &n);
		if (r == 0)
			r = parse(m);
		/* used to two thirds at most */
		if (r == 0 && n + n / 2 > bytes)
			r = -ENOBUFS;
		bytes *= 2;
	}
	return r;
}

int mirror_open(struct mirror *m, pid_t tid)
{
	char path[64];

	*m = (struct mirror)MIRROR_INIT;
	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	m->maps_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (m->maps_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return 0;
}

void mirror_close(struct mirror *m)
{
	if (m->maps_fd >= 0)
		close(m->maps_fd);
	free_room(m);
	*m = (struct mirror)MIRROR_INIT;
}

void mirror_give_maps(struct mirror *m, struct procmaps *out)
{
	*out = (struct procmaps){ .maps = m->maps, .n = m->nmaps, .text = m->text };
	m->maps = NULL;
	m->text = NULL;
	free_room(m);
}
