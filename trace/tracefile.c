/* SPDX-License-Identifier: MIT */
#include "trace/tracefile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/fdio.h"
#include "base/log.h"
#include "trace/block.h"
#include "trace/crc32.h"

/* The file is written through a descriptor of our own: outfile closes its one when it gives the file its name. */
static int adopt(struct tracefile *t, const struct outfile *of)
{
	struct stat st;

	t->in_place = !of->temp;
	t->fd = fcntl(of->fd, F_DUPFD_CLOEXEC, 3);
	if (t->fd < 0 || fstat(t->fd, &st))
		return -errno;
	t->dev = st.st_dev;
	t->ino = st.st_ino;
	return 0;
}

static int put_head(struct tracefile *t)
{
	uint8_t head[MMT_FILE_HEAD];

	file_head_pack(head);
	t->bytes = sizeof(head);
	return write_full(t->fd, head, sizeof(head));
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
	struct stat st;

	t->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (t->fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENXIO ? -ESTALE : -errno;
	if (!fstat(t->fd, &st) && st.st_dev == t->dev && st.st_ino == t->ino && (uint64_t)st.st_size == t->bytes &&
	    lseek(t->fd, st.st_size, SEEK_SET) == st.st_size)
		return 0;
	close(t->fd);
	t->fd = -1;
	return -ESTALE;
}

/* Back to the last whole block. The error that led here is what counts. */
static void take_back(struct tracefile *t)
{
	if (!t->in_place && ftruncate(t->fd, (off_t)t->bytes))
		log_warn_errno(errno, "a trace file ends with half a block");
}

/* Head and payload in one call: whoever kills us in between two would leave a head without a payload. */
static int write_both(int fd, const void *head, size_t nhead, const void *payload, size_t n)
{
	const struct iovec both[] = { { (void *)head, nhead }, { (void *)payload, n } };
	ssize_t done;
	size_t of_head, of_payload;
	int err;

	do {
		done = writev(fd, both, 2);
	} while (done < 0 && errno == EINTR);
	if (done < 0)
		return -errno;
	of_head = (size_t)done < nhead ? (size_t)done : nhead;
	of_payload = (size_t)done - of_head;
	err = write_full(fd, (const char *)head + of_head, nhead - of_head);
	return err ? err : write_full(fd, (const char *)payload + of_payload, n - of_payload);
}

int tracefile_append(struct tracefile *t, struct packer *packer, uint32_t tag, const void *payload, size_t n)
{
	struct block_head h = { .number = t->blocks, .length = (uint32_t)n, .codec = MMT_CODEC_STORED, .tag = tag };
	const void *out = payload;
	uint8_t head[MMT_BLOCK_HEAD];
	size_t stored = n;
	int err;

	if (packer)
		h.codec = packer_pack(packer, payload, n, &out, &stored);
	h.stored = (uint32_t)stored;
	h.crc = crc32_of(out, stored);
	block_head_pack(&h, head);
	err = write_both(t->fd, head, sizeof(head), out, stored);
	if (err) {
		take_back(t);
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
