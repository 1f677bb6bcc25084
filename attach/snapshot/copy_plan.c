/* SPDX-License-Identifier: MIT */
#include "attach/snapshot/copy_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/reach/shared_maps.h"

#define LINE_LEAST 40		/* bytes of the shortest line */
#define TEXT_LIMIT (256u << 20)	/* as in procmaps */

static bool is_kernels(const struct mapping *m)
{
	return !strncmp(m->path, "[v", 2) || !strncmp(m->path, "[uprobes]", 9);
}

enum copy_how copy_plan_of(const struct mapping *m)
{
	if (m->perms & MAPPING_SHARED)
		return shared_map_may_point(m) && m->perms & MAPPING_READ ? COPY_SHARED : COPY_NOT;
	if (is_kernels(m))
		return COPY_NOT;
	if (!(m->perms & MAPPING_READ))
		return m->ino ? COPY_NOT : COPY_FORCED;
	if (m->perms & MAPPING_WRITE || !m->ino)
		return COPY_ALL;
	return m->perms & MAPPING_EXEC ? COPY_NOT : COPY_WRITTEN;
}

/* --- reading the list --- */

/* -ENOBUFS if the buffer is full: then it is not known whether that was the end. */
static int read_text(struct copy_plan *m, size_t *n)
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

/* Lines are in the order of addresses, and so are the mappings left out: *@left_out is the next of these. */
static bool is_left_out(const struct copy_plan *m, const struct mapping *map, size_t *left_out)
{
	while (*left_out < m->nleft_out && m->left_out[*left_out].hi <= map->lo)
		++*left_out;
	return *left_out < m->nleft_out && m->left_out[*left_out].lo < map->hi;
}

static void add_range(struct copy_plan *m, const struct mapping *map, size_t *left_out)
{
	enum copy_how how = copy_plan_of(map);
	struct copy_range *last = m->nranges ? &m->ranges[m->nranges - 1] : NULL;

	if (how == COPY_NOT || (how == COPY_SHARED && is_left_out(m, map, left_out)))
		return;
	if (last && last->hi == map->lo && last->how == how && how != COPY_SHARED)
		last->hi = map->hi;
	else
		m->ranges[m->nranges++] = (struct copy_range){ .lo = map->lo, .hi = map->hi, .how = how };
}

static int parse(struct copy_plan *m)
{
	char *next = m->text;
	size_t left_out = 0;

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
		add_range(m, &m->maps[m->nmaps++], &left_out);
	}
	return m->nmaps ? 0 : -ESRCH;
}

int copy_plan_read(struct copy_plan *m)
{
	size_t n;
	int r = read_text(m, &n);

	return r < 0 ? r : parse(m);
}

/* --- buffers --- */

static void free_buffers(struct copy_plan *m)
{
	free(m->text);
	free(m->maps);
	free(m->ranges);
	free(m->left_out);
	m->text = NULL;
	m->maps = NULL;
	m->ranges = NULL;
	m->left_out = NULL;
	m->nleft_out = 0;
	m->text_room = 0;
	m->maps_room = 0;
}

/* Allocate memory and write to it, so that its pages are there when they are needed. */
static void *populated(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (p)
		memset(p, 1, n * size);
	return p;
}

static int allocate(struct copy_plan *m, size_t bytes)
{
	size_t n = bytes / LINE_LEAST + 64;

	free_buffers(m);
	m->text = populated(bytes, 1);
	m->maps = populated(n, sizeof(*m->maps));
	m->ranges = populated(n, sizeof(*m->ranges));
	m->left_out = populated(n, sizeof(*m->left_out));
	if (!m->text || !m->maps || !m->ranges || !m->left_out) {
		free_buffers(m);
		return -ENOMEM;
	}
	m->text_room = bytes;
	m->maps_room = n;
	return 0;
}

int copy_plan_prepare(struct copy_plan *m)
{
	size_t bytes = m->text_room ? m->text_room : 64u << 10, n = 0;
	int r = -ENOBUFS;

	while (r == -ENOBUFS) {
		if (bytes > TEXT_LIMIT)
			return -EFBIG;
		r = allocate(m, bytes);
		if (r == 0)
			r = read_text(m, &n);
		if (r == 0)
			r = parse(m);
		/* at most two thirds may be used */
		if (r == 0 && n + n / 2 > bytes)
			r = -ENOBUFS;
		bytes *= 2;
	}
	return r;
}

int copy_plan_open(struct copy_plan *m, pid_t tid)
{
	char path[64];

	*m = (struct copy_plan)COPY_INIT;
	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	m->maps_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (m->maps_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return 0;
}

void copy_plan_close(struct copy_plan *m)
{
	if (m->maps_fd >= 0)
		close(m->maps_fd);
	free_buffers(m);
	*m = (struct copy_plan)COPY_INIT;
}

/* --- which shared memory --- */

static int by_bytes(const void *a, const void *b)
{
	const struct copy_range *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes > y->bytes) - (x->bytes < y->bytes)
				    : (x->lo > y->lo) - (x->lo < y->lo);
}

static int by_address(const void *a, const void *b)
{
	const struct copy_range *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

uint64_t copy_plan_limit_shared(struct copy_plan *m, uint64_t budget)
{
	uint64_t chosen = 0, left_out_bytes = 0;
	size_t nshared = m->nleft_out, kept = 0, n = 0;

	for (size_t i = 0; i < m->nranges; i++)
		if (m->ranges[i].how == COPY_SHARED)
			m->left_out[nshared++] = m->ranges[i];
		else
			m->ranges[kept++] = m->ranges[i];
	qsort(m->left_out, nshared, sizeof(*m->left_out), by_bytes);
	while (n < nshared && m->left_out[n].bytes <= budget - chosen)
		chosen += m->left_out[n++].bytes;
	for (size_t i = 0; i < n; i++)
		m->ranges[kept++] = m->left_out[i];
	m->nranges = kept;
	m->nleft_out = nshared - n;
	memmove(m->left_out, m->left_out + n, m->nleft_out * sizeof(*m->left_out));
	qsort(m->left_out, m->nleft_out, sizeof(*m->left_out), by_address);
	for (size_t i = 0; i < m->nleft_out; i++)
		left_out_bytes += m->left_out[i].bytes;
	return left_out_bytes;
}

void copy_plan_move_maps(struct copy_plan *m, struct procmaps *out)
{
	*out = (struct procmaps){ .maps = m->maps, .n = m->nmaps, .text = m->text };
	m->maps = NULL;
	m->text = NULL;
	free_buffers(m);
}
