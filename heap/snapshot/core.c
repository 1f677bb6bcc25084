/* SPDX-License-Identifier: MIT */
/* core: see core.h. This file opens the core, and reports what is missing in it. */
#include "heap/snapshot/core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "heap/snapshot/core_parts.h"
#include "heap/snapshot/filemap.h"

static void set_reason(struct core_info *info, int err)
{
	if (!info->why[0])
		snprintf(info->why, sizeof(info->why), "%s", strerror(-err));
}

static int open_regular(const char *path, struct core *c)
{
	struct stat st;

	c->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (c->fd < 0 || fstat(c->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		snprintf(c->info->why, sizeof(c->info->why), "is no regular file");
		return -ENOEXEC;
	}
	c->size = c->info->size = (uint64_t)st.st_size;
	if (c->size)
		return 0;
	snprintf(c->info->why, sizeof(c->info->why), "is empty");
	snprintf(c->info->what_to_do, sizeof(c->info->what_to_do),
		 "the disk was full, or the limit on the size of core files (ulimit -c) too small");
	return -ENOEXEC;
}

static int map(struct core *c)
{
	void *bytes;
	int err;

	if (c->size > SIZE_MAX / 2)
		return -EFBIG;
	err = filemap_open(c->fd, c->size, &bytes);
	if (err)
		return err;
	err = snapshot_own_file(c->s, bytes, c->size);
	if (err) {
		filemap_close(bytes, c->size);
		return err;
	}
	c->bytes = bytes;
	return 0;
}

static int read_all(const char *path, struct core *c)
{
	int err = open_regular(path, c);

	if (!err)
		err = map(c);
	if (!err)
		err = core_read_headers(c);
	if (!err)
		err = core_read_notes(c);
	if (!err)
		err = core_read_memory(c);
	return err ? err : snapshot_seal(c->s);
}

int core_open(const char *path, struct snapshot *out, struct core_info *info)
{
	struct core c = { .fd = -1, .s = out, .info = info };
	int err;

	memset(info, 0, sizeof(*info));
	snapshot_init(out);
	err = read_all(path, &c);
	if (err) {
		set_reason(info, err);
		snapshot_fini(out);
	}
	if (c.fd >= 0)
		close(c.fd);
	free(c.loads);
	free(c.notes);
	free(c.files);
	return err;
}

static void sentence(struct strbuf *out, size_t *n, const char *text)
{
	strbuf_append(out, text, strlen(text) + 1);
	++*n;
}

/* Adds "@bytes @what", unless @bytes is 0. */
static void add_bytes_doubt(struct strbuf *out, size_t *n, uint64_t bytes, const char *what)
{
	char text[256];

	if (!bytes)
		return;
	snprintf(text, sizeof(text), "%llu bytes %s", (unsigned long long)bytes, what);
	sentence(out, n, text);
}

size_t core_doubts(const struct core_info *info, struct strbuf *out)
{
	size_t n = 0;
	char text[256];

	if (info->size < info->whole) {
		snprintf(text, sizeof(text), "the core file is truncated: %llu of %s%llu bytes are there",
			 (unsigned long long)info->size, info->headers_cut ? "at least " : "",
			 (unsigned long long)info->whole);
		sentence(out, &n, text);
	}
	add_bytes_doubt(out, &n, info->cut, "of memory were cut off with it");
	if (info->no_notes)
		sentence(out, &n, "the core file tells of no thread: no registers and no stacks are known");
	if (info->no_private)
		sentence(out, &n,
			 "the core file was written without the process's own memory (its coredump_filter)");
	add_bytes_doubt(out, &n, info->left_out,
		  "of private memory are not in the core file: never touched, or kept out of it "
		  "(MADV_DONTDUMP)");
	if (info->damaged) {
		snprintf(text, sizeof(text), "%u parts of the core file make no sense and were left out",
			 info->damaged);
		sentence(out, &n, text);
	}
	return n;
}
