/* SPDX-License-Identifier: MIT */
/*
 * modfile: the file behind a mapping of the target, opened in a way that makes sure that it is that file, and
 * that opening it does no harm.
 *
 * Tried in turn: /proc/PID/map_files (the mapping's own file, also a deleted one; root only), the path below
 * /proc/PID/root (the target may live in another mount namespace), the path (its root may be a folder that
 * we see), /proc/PID/exe. The last three are used only if device and inode are those of the mapping. Each is
 * first opened with O_PATH, which touches no device and
 * waits for no FIFO, and opened for reading only if it is a regular file.
 *
 * The vDSO has no file: its image is copied out of the target into a memfd.
 */
#ifndef MM_MODFILE_H
#define MM_MODFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "attach/probes/code/elfimage.h"
#include "base/cleanup.h"
#include "base/procmaps.h"
#include "base/taddr.h"

#define MODFILE_SEGMENTS 32

/* A PT_LOAD segment, cut to whole pages as the kernel and ld.so map it. */
struct segment {
	taddr vaddr;
	uint64_t offset, filesz, memsz;
	bool exec;
};

struct modfile {
	dev_t dev;
	ino_t ino;
	char *path;		/* without " (deleted)"; of the program, as it was started (startname.h) */
	bool deleted;
	struct elfimage *img;	/* NULL: for the reason in why_not */
	char why_not[96];
	bool unread;		/* (img NULL) it could not be read, so its contents are not known */
	uint8_t build_id[32];
	size_t build_id_len;
	struct segment segments[MODFILE_SEGMENTS];
	size_t nsegments;
};

/* true for what modfile_new can open: a file, or the vDSO. */
bool modfile_is_for(const struct mapping *m);

/*
 * Open the file of @m, a mapping of @pid, to read it: only if it is that file, and a regular one. @path: its own
 * path, without " (deleted)". -ESTALE: another file has that name now; -errno.
 */
must_check int modfile_open(pid_t pid, const struct mapping *m, const char *path);

/*
 * The file of @m, a mapping of @pid. A file that cannot be opened or is not ELF is no error: img is NULL
 * then. 0 or -ENOMEM.
 */
must_check int modfile_new(pid_t pid, const struct mapping *m, struct modfile **out);
void modfile_free(struct modfile *f);

/*
 * The load bias with which the file is mapped at @m: runtime address = file address + bias. If no segment
 * fits (not an ELF file), file addresses are file offsets.
 */
taddr modfile_bias(const struct modfile *f, const struct mapping *m);

/* First and last+1 runtime address that the segments can occupy at @bias; everything if there are none. */
void modfile_span(const struct modfile *f, taddr bias, taddr *lo, taddr *hi);

#endif
