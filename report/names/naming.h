/* SPDX-License-Identifier: MIT */
/*
 * naming: what the frames of a run are called, where nobody has looked it up yet.
 *
 * Done once, after the watch, file by file (symbolize/names.h). Who opens the files differs: a live watch has kept them open
 * since they were first mapped; post mortem they are looked for on this machine, and must be of the same build.
 * The result is a fact (MMT_NAMES) for each frame, also for one without a name: so nobody looks again.
 */
#ifndef MM_NAMING_H
#define MM_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "trace/defs.h"

/* Where files come from. */
struct naming_files {
	/* A descriptor of the file of module index @module, which stays the giver's until close. -errno with @why (may be left empty). */
	int (*open)(void *ctx, uint32_t module, char *why, size_t why_size);
	void (*close)(void *ctx, uint32_t module, int fd);	/* NULL: nothing to do */
	/* The name of code at @addr that is in no file, or NULL. May be NULL itself. */
	const char *(*made_code)(void *ctx, taddr addr);
	int root;		/* the target's root directory (O_PATH), or -1 */
	void *ctx;
};

struct naming_options {
	bool debuginfod;
	int stop;		/* when this file becomes readable, names are given up; 0: none */
	/* What is found: facts of MMT_NAMES and MMT_NOTE (on files that gave no names). 0 or -errno, which ends it. */
	int (*put)(void *ctx, const struct fact *f);
	void *ctx;
};

/*
 * Name the frames of @d for which @wanted[index] is true (NULL: all) and that have no names yet. @put may (and should) give the facts to
 * @d itself. 0, -ENOMEM, or what @put gave.
 */
must_check int naming_run(const struct defs *d, const bool *wanted, const struct naming_files *files,
			  const struct naming_options *opt);

/* Files of this machine, for a trace: by the module's path, if the build id there is the same (or the trace has none: then with a note). */
struct naming_local;
must_check int naming_local_new(const struct defs *d, struct naming_local **out, struct naming_files *files);
void naming_local_free(struct naming_local *n);

#endif
