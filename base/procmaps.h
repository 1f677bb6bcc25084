/* SPDX-License-Identifier: MIT */
/*
 * procmaps: the lines of /proc/PID/maps.
 *
 *	7f1c0a226000-7f1c0a37c000 r-xp 00026000 fe:01 131234   /usr/lib/libc.so.6
 *
 * Pure except for procmaps_read. The path is the target's own choice: it may hold blanks, control characters
 * and anything else but NUL; the kernel writes its newlines as \012, which is undone here. (It does not
 * escape the backslash, so a name that really has the four characters \012 cannot be distinguished: code that
 * opens a path compares device and inode.)
 */
#ifndef MM_PROCMAPS_H
#define MM_PROCMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/taddr.h"

enum mapping_perms {
	MAPPING_READ = 1 << 0,
	MAPPING_WRITE = 1 << 1,
	MAPPING_EXEC = 1 << 2,
	MAPPING_SHARED = 1 << 3,
};

struct mapping {
	taddr lo, hi;
	unsigned perms;		/* enum mapping_perms */
	uint64_t offset;
	/*
	 * of the file, in the kernel's own numbering; on btrfs and overlayfs, stat(2) may return another
	 * number
	 */
	dev_t dev;
	ino_t ino;		/* 0: no file */
	/* never NULL; "" for anonymous memory; "[heap]", " (deleted)" and the like left on */
	const char *path;
};

/* All mappings, in the order of the text: by address. */
struct procmaps {
	struct mapping *maps;
	size_t n;
	char *text;	/* holds the paths */
};

#define PROCMAPS_INIT { NULL, 0, NULL }

/* Parse one @line without its newline; @out->path points into it, where escapes are undone. 0 or -EINVAL. */
must_check int procmaps_parse_line(char *line, struct mapping *out);

/* Parse the @n bytes of @text (copied). 0, -EINVAL if a line is not in the kernel's format, -ENOMEM. */
must_check int procmaps_parse(const char *text, size_t n, struct procmaps *out);

/*
 * The same for the file @path. 0 or -errno (-ESRCH: the process is gone). Memory of a zombie or kernel
 * thread: no mappings.
 */
must_check int procmaps_read(const char *path, struct procmaps *out);
void procmaps_fini(struct procmaps *pm);

/* The mapping that holds @addr, or NULL. */
const struct mapping *procmaps_find(const struct procmaps *pm, taddr addr);

#endif
