/* SPDX-License-Identifier: MIT */
/*
 * fdio: see fdio.h. A result file is opened in one of three ways, depending on what its name refers to
 * already, and finished in one way.
 */
#include "base/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

int write_full(int fd, const void *buf, size_t n)
{
	const char *p = buf;

	while (n) {
		ssize_t done = write(fd, p, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

ssize_t pread_full(int fd, void *buf, size_t n, off_t offset)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = pread(fd, (char *)buf + have, n - have, offset + (off_t)have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

/* Read until the end or until @buf is full: the number read or -errno. */
static ssize_t read_up_to(int fd, char *buf, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = read(fd, buf + have, n - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

int read_whole_fd(int fd, size_t limit, char **out, size_t *n)
{
	cleanup_free char *buf = NULL;
	size_t have = 0, size = 4096;

	for (;;) {
		char *bigger = realloc(buf, size + 1);
		if (!bigger)
			return -ENOMEM;
		buf = bigger;

		ssize_t got = read_up_to(fd, buf + have, size - have);
		if (got < 0)
			return (int)got;
		have += (size_t)got;
		if (have > limit)
			return -EFBIG;
		if (have < size)
			break;
		if (size > SIZE_MAX / 4)
			return -ENOMEM;
		size *= 2;
	}
	buf[have] = '\0';
	*out = buf;
	*n = have;
	buf = NULL;
	return 0;
}

int read_whole_file_at(int dirfd, const char *path, size_t limit, char **out, size_t *n)
{
	cleanup_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return read_whole_fd(fd, limit, out, n);
}

int read_whole_file(const char *path, size_t limit, char **out, size_t *n)
{
	return read_whole_file_at(AT_FDCWD, path, limit, out, n);
}

int open_null(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	fd = memfd_create("null", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && !fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		return fd;
	if (fd >= 0)
		close(fd);
	return -ENODEV;
}

/* Open the folder of @path and copy the rest of it to of->name. */
static int open_folder(struct outfile *of, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	cleanup_free char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	if (!*name)
		return *path ? -EISDIR : -ENOENT;
	of->name = strdup(name);
	if (!folder || !of->name)
		return -ENOMEM;
	of->dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return of->dirfd < 0 ? -errno : 0;
}

/* Could another user have put a symbolic link into this folder? */
static bool others_may_write(int dirfd)
{
	struct stat st;

	return fstat(dirfd, &st) || (st.st_mode & S_IWOTH) || (st.st_uid != geteuid() && st.st_uid != 0);
}

/* O_NONBLOCK only for the opening: a FIFO without a reader is an error (-ENXIO), not an endless wait. */
static int open_in_place(struct outfile *of, int flags)
{
	of->fd = openat(of->dirfd, of->name, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
	if (of->fd < 0)
		return -errno;
	int status = fcntl(of->fd, F_GETFL);
	if (status < 0 || fcntl(of->fd, F_SETFL, status & ~O_NONBLOCK))
		return -errno;
	return 0;
}

/*
 * Another user's FIFO or device, in a folder where others can put one, could read our data, or make us wait
 * for ever.
 */
static int open_special(struct outfile *of, uid_t owner)
{
	if (owner != geteuid() && owner != 0 && others_may_write(of->dirfd))
		return -EPERM;
	return open_in_place(of, O_NOFOLLOW);
}

static int open_link(struct outfile *of)
{
	return others_may_write(of->dirfd) ? -ELOOP : open_in_place(of, O_TRUNC);
}

static int open_temp(struct outfile *of)
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint32_t)getpid();
	if (asprintf(&of->temp, ".%.200s.%08x.tmp", of->name, (unsigned)number) < 0) {
		of->temp = NULL;
		return -ENOMEM;
	}
	of->fd = openat(of->dirfd, of->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (of->fd >= 0)
		return 0;
	int err = -errno;
	free(of->temp);
	of->temp = NULL;
	return err;
}

static int open_by_kind(struct outfile *of)
{
	struct stat st;

	if (fstatat(of->dirfd, of->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? open_temp(of) : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISLNK(st.st_mode))
		return open_link(of);
	return S_ISREG(st.st_mode) ? open_temp(of) : open_special(of, st.st_uid);
}

int outfile_open(struct outfile *of, const char *path)
{
	*of = (struct outfile)OUTFILE_INIT;
	int err = open_folder(of, path);

	if (!err)
		err = open_by_kind(of);
	if (err)
		outfile_abort(of);
	return err;
}

/* close(2) reports the errors of a full disk or a quota that were delayed until now. */
static int finish(struct outfile *of)
{
	int err = close(of->fd) ? -errno : 0;

	of->fd = -1;
	if (!err && of->temp && renameat(of->dirfd, of->temp, of->dirfd, of->name))
		err = -errno;
	if (!err) {
		free(of->temp);
		of->temp = NULL;
	}
	return err;
}

int outfile_commit(struct outfile *of)
{
	int err = finish(of);

	outfile_abort(of);
	return err;
}

void outfile_abort(struct outfile *of)
{
	int saved = errno;

	if (of->fd >= 0)
		close(of->fd);
	if (of->temp)
		unlinkat(of->dirfd, of->temp, 0);
	if (of->dirfd >= 0)
		close(of->dirfd);
	free(of->temp);
	free(of->name);
	*of = (struct outfile)OUTFILE_INIT;
	errno = saved;
}

int write_whole_file(const char *path, const void *buf, size_t n)
{
	struct outfile of;
	int err = outfile_open(&of, path);

	if (err)
		return err;
	err = write_full(of.fd, buf, n);
	if (err) {
		outfile_abort(&of);
		return err;
	}
	return outfile_commit(&of);
}
