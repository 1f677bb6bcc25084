/* SPDX-License-Identifier: MIT */
#include "trace/tracefile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/log.h"
#include "trace/block.h"
#include "trace/crc32.h"

#define PATIENCE_MS 1000
#define LEASE_TRIES 10	/* in less time than a thread of the target may be held */
#define LEASE_NS 5000000

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* 0: perhaps something can be written now. */
static int wait_until(int fd, int64_t end_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int64_t left = end_ms - now_ms();

	if (left <= 0)
		return -ETIMEDOUT;
	return poll(&p, 1, (int)left) < 0 && errno != EINTR ? -errno : 0;
}

static void pass(struct iovec *v, size_t n)
{
	v->iov_base = (char *)v->iov_base + n;
	v->iov_len -= n;
}

/*
 * Write both with one call, if the file accepts both: if we were killed between two calls, there would be a
 * head without a payload. A non-blocking file that accepts nothing is given up after a timeout.
 */
static int write_both(int fd, struct iovec head, struct iovec payload)
{
	int64_t end_ms = now_ms() + PATIENCE_MS;

	while (head.iov_len + payload.iov_len) {
		ssize_t done = writev(fd, (const struct iovec[]){ head, payload }, 2);
		int err = 0;

		if (done > 0) {
			size_t of_head = (size_t)done < head.iov_len ? (size_t)done : head.iov_len;

			pass(&head, of_head);
			pass(&payload, (size_t)done - of_head);
			end_ms = now_ms() + PATIENCE_MS;
		} else if (done == 0 || errno == EAGAIN) {
			err = wait_until(fd, end_ms);
		} else if (errno != EINTR) {
			err = -errno;
		}
		if (err)
			return err;
	}
	return 0;
}

/*
 * The file is written through a descriptor of our own: outfile closes its own when it gives the file its
 * name. A file written in place was opened for us alone: O_NONBLOCK affects no other process.
 */
static int adopt(struct tracefile *t, const struct outfile *of)
{
	struct stat st;
	int flags;

	t->in_place = !of->temp;
	t->fd = fcntl(of->fd, F_DUPFD_CLOEXEC, 3);
	if (t->fd < 0 || fstat(t->fd, &st))
		return -errno;
	t->dev = st.st_dev;
	t->ino = st.st_ino;
	if (!t->in_place)
		return 0;
	flags = fcntl(t->fd, F_GETFL);
	return flags < 0 || fcntl(t->fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

static int put_head(struct tracefile *t)
{
	uint8_t head[MMT_FILE_HEAD];

	file_head_pack(head);
	t->bytes = sizeof(head);
	return write_both(t->fd, (struct iovec){ head, sizeof(head) }, (struct iovec){ 0 });
}

int tracefile_create(struct tracefile *t, const char *path)
{
	struct outfile of;
	int err;

	*t = (struct tracefile)TRACEFILE_INIT;
	err = outfile_open(&of, path);
	if (err)
		return err;
	err = adopt(t, &of);
	if (!err)
		err = put_head(t);
	if (err)
		outfile_abort(&of);
	else
		err = outfile_commit(&of);
	if (err && t->fd >= 0)
		close(t->fd);
	if (err)
		t->fd = -1;
	return err;
}

int tracefile_reopen(struct tracefile *t, const char *path)
{
	const struct timespec pause = { 0, LEASE_NS };
	struct stat st;

	for (int i = 0; i < LEASE_TRIES; i++) {
		t->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		if (t->fd >= 0 || errno != EAGAIN)
			break;
		nanosleep(&pause, NULL);	/* a reader holds a lease, to find out whether it is still written */
	}
	if (t->fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENXIO ? -ESTALE : -errno;
	if (!fstat(t->fd, &st) && st.st_dev == t->dev && st.st_ino == t->ino &&
	    (uint64_t)st.st_size == t->bytes && lseek(t->fd, st.st_size, SEEK_SET) == st.st_size)
		return 0;
	close(t->fd);
	t->fd = -1;
	return -ESTALE;
}

static int copy(int from, int to, uint64_t bytes)
{
	uint8_t buf[65536];
	off_t at = 0;

	while ((uint64_t)at < bytes) {
		size_t want = bytes - at < sizeof(buf) ? bytes - at : sizeof(buf);
		ssize_t n = pread_full(from, buf, want, at);
		int err = n == (ssize_t)want ? 0 : n < 0 ? (int)n : -ESTALE;

		if (!err)
			err = write_both(to, (struct iovec){ buf, want }, (struct iovec){ 0 });
		if (err)
			return err;
		at += n;
	}
	return 0;
}

int tracefile_move(struct tracefile *t, const char *from, const char *to)
{
	cleanup_close int source = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct tracefile old = *t;
	int err = source < 0 ? -errno : tracefile_create(t, to);

	/* only this process's descriptor: the process that shares the file continues with its own */
	close(old.fd);
	if (err) {
		t->fd = -1;
		return err;
	}
	if (ftruncate(t->fd, 0) || lseek(t->fd, 0, SEEK_SET))
		err = -errno;
	if (!err)
		err = copy(source, t->fd, old.bytes);
	if (err) {
		(void)!tracefile_close(t);
		return err;
	}
	t->bytes = old.bytes;
	t->blocks = old.blocks;
	return 0;
}

/* Cut off what is after the last whole block. The error that led here is what is returned. */
static void truncate_to_whole(struct tracefile *t)
{
	if (!t->in_place && ftruncate(t->fd, (off_t)t->bytes))
		log_warn_errno(errno, "a trace file ends with half a block");
}

int tracefile_append(struct tracefile *t, struct packer *packer, uint32_t tag, const void *payload, size_t n)
{
	struct block_head h = {
		.number = t->blocks, .length = (uint32_t)n, .codec = MMT_CODEC_STORED, .tag = tag
	};
	const void *out = payload;
	uint8_t head[MMT_BLOCK_HEAD];
	size_t stored = n;
	int err;

	if (packer)
		h.codec = packer_pack(packer, payload, n, &out, &stored);
	h.stored = (uint32_t)stored;
	h.crc = crc32_of(out, stored);
	block_head_pack(&h, head);
	err = write_both(t->fd, (struct iovec){ head, sizeof(head) }, (struct iovec){ (void *)out, stored });
	if (err) {
		truncate_to_whole(t);
		return err;
	}
	t->bytes += sizeof(head) + stored;
	t->blocks++;
	return 0;
}

int tracefile_close(struct tracefile *t)
{
	int err = 0;

	if (t->fd >= 0 && close(t->fd))
		err = -errno;
	t->fd = -1;
	return err;
}
