/* SPDX-License-Identifier: MIT */
/*
 * backing: the files behind private mappings, for the pages that a snapshot does not have: code, constants, data that nobody has
 * written.
 *
 * Which file a mapping shows is the caller's to know (backing_open): a live target's by /proc/PID/map_files, a core's by name. Names lie:
 * a package may have been updated since. So a file that is not certain must have the build id that is in memory, or, where it has
 * none, the same ELF header; where memory has neither, name and size must do, and `proof` says so. What does not match is not used,
 * and `why` says why.
 *
 * Mappings that are shared are left alone: what is in the file now is not what was there then.
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
	BACKING_NAME,		/* only the name, and that it is long enough */
	BACKING_HEADER,		/* the ELF header that is in memory */
	BACKING_BUILD_ID,
	BACKING_CERTAIN,	/* the caller says so */
};

struct backing_file {
	const char *path;		/* as s->maps has it */
	const void *bytes;		/* of one that is used: its contents, mapped (heap/snapshot/filemap.h), the snapshot's; else NULL */
	uint64_t size;
	size_t first;			/* its first mapping, a number in s->maps */
	enum backing_proof proof;
	char why[160];			/* ""; or why it is not used: "is another build than the one that ran" */
};

struct backing {
	struct backing_file *files;
	size_t n, room;
	struct addrmap index;		/* device and inode -> number */
};

/* The file of @m: a descriptor, or -errno. @certain (false before): it is that file, whatever its name. */
typedef int backing_open(void *ctx, const struct mapping *m, bool *certain);

/*
 * Open the file of each private mapping of @s, and put those that match behind it; @s is sealed before and afterwards, and
 * lives as long as @out. 0, whatever was found; -ENOMEM: @out is empty then.
 */
must_check int backing_add(struct snapshot *s, backing_open *open, void *ctx, struct backing *out);
void backing_fini(struct backing *b);

/* What became of the file of @m; NULL for none. */
const struct backing_file *backing_find(const struct backing *b, const struct mapping *m);

/*
 * The file's own address (ELF vaddr) of @at in its mapping @m, by the program headers of its contents. false: it is not used, or no
 * ELF file, or no segment is there.
 */
bool backing_vaddr(const struct backing_file *f, const struct mapping *m, taddr at, taddr *vaddr);

/* A backing_open for cores: by name. @ctx is this. */
struct backing_names {
	const char *exe_path;	/* the program as the core names it; NULL: not known */
	const char *exe;	/* and where it is; NULL: there */
};
int backing_open_name(void *names, const struct mapping *m, bool *certain);

#endif
