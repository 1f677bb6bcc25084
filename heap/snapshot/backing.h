/* SPDX-License-Identifier: MIT */
/*
 * backing: the files behind private mappings, for the pages that a snapshot does not have: code, constants,
 * data that was never written.
 *
 * The caller finds the file of a mapping (backing_open): for a live target by /proc/PID/map_files, for a core
 * by name. Names are unreliable: a package may have been updated since. So a file that is not certain must
 * have the build id that is in memory, or, if there is none, the same ELF header; if memory has neither, name
 * and size must do, and `proof` says so. A file that does not match is not used, and `why` gives the reason.
 *
 * Shared mappings are left out: the file may have changed since.
 */
#ifndef MM_BACKING_H
#define MM_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/procmaps.h"
#include "base/taddr.h"
#include "heap/snapshot/snapshot.h"

enum backing_proof {
	BACKING_NONE,		/* not used */
	BACKING_NAME,		/* only the name, and the file is long enough */
	BACKING_HEADER,		/* the ELF header that is in memory */
	BACKING_BUILD_ID,
	BACKING_CERTAIN,	/* the caller has said so */
};

struct backing_file {
	const char *path;		/* as in s->maps */
	/* contents, if it is used: mapped (heap/snapshot/filemap.h), owned by the snapshot; else NULL */
	const void *bytes;
	uint64_t size;
	size_t first;			/* its first mapping, an index in s->maps */
	enum backing_proof proof;
	char why[160];			/* ""; or the reason: "is another build than the one that ran" */
};

struct backing {
	struct backing_file *files;
	size_t n, room;
	struct addrmap index;		/* device and inode -> index in files */
};

/*
 * Opens the file of @m: a descriptor, or -errno. @certain (false before): set if it is that file, whatever
 * its name.
 */
typedef int backing_open(void *ctx, const struct mapping *m, bool *certain);

/*
 * Open the file of each private mapping of @s, and add those that match as backing. @s is sealed before and
 * afterwards, and must live as long as @out. 0, whatever was found; -ENOMEM: @out is empty then.
 */
must_check int backing_add(struct snapshot *s, backing_open *open, void *ctx, struct backing *out);
void backing_fini(struct backing *b);

/* The file of @m and the result of checking it; NULL if @m has none. */
const struct backing_file *backing_find(const struct backing *b, const struct mapping *m);

/*
 * The file's own address (ELF vaddr) of @at in its mapping @m, by the program headers of its contents. false:
 * the file is not used, or is no ELF file, or has no segment there.
 */
bool backing_vaddr(const struct backing_file *f, const struct mapping *m, taddr at, taddr *vaddr);

/* A backing_open for cores: by name. @ctx is this. */
struct backing_names {
	const char *exe_path;	/* the program as the core names it; NULL: not known */
	const char *exe;	/* its file on this machine; NULL: the same path */
};
int backing_open_name(void *names, const struct mapping *m, bool *certain);

#endif
