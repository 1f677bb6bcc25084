/* SPDX-License-Identifier: MIT */
#include "attach/top/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "base/fdio.h"
#include "trace/reader.h"

#define CHUNK 65536

/* The first @n bytes of @from, or all there are. */
static int copy(int from, uint64_t n, int to)
{
	char buffer[CHUNK];
	uint64_t at = 0;

	while (at < n) {
		const size_t want = n - at < sizeof(buffer) ? (size_t)(n - at) : sizeof(buffer);
		const ssize_t got = pread_full(from, buffer, want, (off_t)at);
		int r = got > 0 ? write_full(to, buffer, (size_t)got) : (int)got;

		if (r < 0 || got == 0)
			return r;
		at += (uint64_t)got;
	}
	return 0;
}

static int copy_piece(const char *path, int to)
{
	cleanup_close int from = open(path, O_RDONLY | O_CLOEXEC);

	return from < 0 ? -errno : copy(from, UINT64_MAX, to);
}

/* Of the piece that is being written whole blocks only. */
static int copy_all(const struct follow *f, int to)
{
	int r = 0;

	for (size_t i = 0; i + 1 < f->npaths && r == 0; i++)
		r = copy_piece(f->paths[i], to);
	if (r == 0 && f->reader)
		r = copy(f->fd, reader_at(f->reader), to);
	return r;
}

int save_trace(const struct follow *f, const char *path)
{
	const int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (to < 0)
		return -errno;
	r = copy_all(f, to);
	if (close(to) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		unlink(path);
	return r;
}
