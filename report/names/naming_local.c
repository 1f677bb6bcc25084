/* SPDX-License-Identifier: MIT */
/*
 * naming_local: files of this machine, for a trace that may come from another one (see naming.h).
 *
 * The trace gives paths and build ids; the file that has this path now may be anything. It is opened as an
 * untrusted file, and used only if its build id is that of the file that ran.
 */
#include "report/names/naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/files/buildid.h"
#include "symbolize/files/safeopen.h"

struct naming_local {
	const struct defs *defs;
};

static int refuse(int fd, int err, char *why, size_t why_size, const char *text)
{
	close(fd);
	snprintf(why, why_size, "%s", text);
	return err;
}

/* Is the file of @fd the one of @m? Returns as naming_files.open does. */
static int check(int fd, const struct defs_module *m, char *why, size_t why_size)
{
	char id[BUILDID_TEXT];
	int r = buildid_read(fd, id);

	if (r == -EINVAL)
		return refuse(fd, r, why, why_size, "what is there on this machine is not an ELF file");
	if (r < 0)
		return refuse(fd, r, why, why_size, strerror(-r));
	if (!m->build_id || !m->build_id[0]) {
		snprintf(why, why_size, "nothing tells whether what is installed here is what ran");
		return fd;
	}
	if (strcmp(id, m->build_id))
		return refuse(fd, -ESTALE, why, why_size, "another build is installed here");
	return fd;
}

static int open_local(void *ctx, uint32_t module, char *why, size_t why_size)
{
	const struct naming_local *n = ctx;
	const struct defs_module *m = &n->defs->modules[module];
	int fd;

	if (!m->path || m->path[0] != '/') {
		snprintf(why, why_size, "nothing tells where it is");
		return -ENOENT;
	}
	fd = safeopen(-1, m->path);
	if (fd == -ENOENT)
		snprintf(why, why_size, "not on this machine");
	return fd < 0 ? fd : check(fd, m, why, why_size);
}

static void close_local(void *ctx, uint32_t module, int fd)
{
	(void)ctx;
	(void)module;
	close(fd);
}

int naming_local_new(const struct defs *d, struct naming_local **out, struct naming_files *files)
{
	struct naming_local *n = malloc(sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->defs = d;
	*files = (struct naming_files){ .open = open_local, .close = close_local, .root = -1, .ctx = n };
	*out = n;
	return 0;
}

void naming_local_free(struct naming_local *n)
{
	free(n);
}
