/* SPDX-License-Identifier: MIT */
#include "attach/many/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

bool folder_is_meant(const char *output)
{
	const size_t n = strlen(output);
	struct stat st;

	return (n && output[n - 1] == '/') || (stat(output, &st) == 0 && S_ISDIR(st.st_mode));
}

static int make_ours(struct folder *f)
{
	const char *in = getenv("TMPDIR");

	f->ours = true;
	if (asprintf(&f->path, "%s/mmattach-XXXXXX", in && *in ? in : "/tmp") < 0) {
		f->path = NULL;
		return -ENOMEM;
	}
	if (mkdtemp(f->path))
		return 0;
	return -errno;
}

static int use_named(struct folder *f, const char *output)
{
	size_t n = strlen(output);

	while (n > 1 && output[n - 1] == '/')
		n--;
	f->path = strndup(output, n);
	if (!f->path)
		return -ENOMEM;
	if (mkdir(f->path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return access(f->path, W_OK | X_OK) < 0 ? -errno : 0;
}

int folder_open(struct folder *f, const char *output)
{
	int r;

	*f = (struct folder){ 0 };
	r = output ? use_named(f, output) : make_ours(f);
	if (r == 0)
		return 0;
	log_error_errno(r, "cannot write traces to %s", f->path ? f->path : "a folder");
	if (f->ours)
		log_hint("name a folder of yours: -o FOLDER/, or set TMPDIR");
	free(f->path);
	f->path = NULL;
	return r;
}

static void remove_all(const char *path)
{
	cleanup_closedir DIR *dir = opendir(path);
	const struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' || strlen(d->d_name) > 2)
			unlinkat(dirfd(dir), d->d_name, 0);
	rmdir(path);
}

void folder_close(struct folder *f)
{
	if (f->path && f->ours)
		remove_all(f->path);
	free(f->path);
	f->path = NULL;
}

/* A process chooses its name: in that of a file it is letters, digits and a few signs. */
static void plain(const char *comm, char *out, size_t n)
{
	size_t i = 0;

	for (; comm[i] && i + 1 < n; i++) {
		const unsigned char c = (unsigned char)comm[i];

		out[i] = c < 0x80 && (isalnum(c) || strchr("._+@", c)) ? (char)c : '_';
	}
	out[i] = '\0';
}

char *folder_name(const struct folder *f, pid_t pid, const char *comm)
{
	char name[64], number[16] = "";
	char *path;

	plain(comm, name, sizeof(name));
	for (unsigned i = 2; ; i++) {
		if (asprintf(&path, "%s/%d-%s%s.mmt", f->path, (int)pid, name, number) < 0)
			return NULL;
		if (access(path, F_OK) < 0)
			return path;
		free(path);
		snprintf(number, sizeof(number), ".%u", i);
	}
}

int folder_hold(const struct folder *f)
{
	const int fd = f->ours ? open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0)
		(void)!flock(fd, LOCK_SH);
	return fd;
}

void folder_abandon(const struct folder *f, int held, const char *path)
{
	if (!f->ours)
		return;
	unlink(path);
	if (held >= 0 && flock(held, LOCK_EX | LOCK_NB) == 0)
		remove_all(f->path);
}
