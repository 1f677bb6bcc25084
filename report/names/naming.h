/* SPDX-License-Identifier: MIT */
/*
 * naming: names for the frames of a run that have none yet.
 *
 * Done once, after the watch, file by file (symbolize/names.h). Files are opened in two ways: a live watch
 * has kept them open since they were first mapped; post mortem they are looked up on this machine, and must
 * be of the same build. The result is a fact (MMT_NAMES) for each frame, also for one without a name, so that
 * no frame is looked up twice.
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
	/*
	 * A descriptor of the file of module index @module; the implementation owns it until close. -errno
	 * with @why (may be left empty).
	 */
	int (*open)(void *ctx, uint32_t module, char *why, size_t why_size);
	void (*close)(void *ctx, uint32_t module, int fd);	/* NULL: nothing to do */
	/* The name of code at @addr that is in no file, or NULL. May be NULL itself. */
	const char *(*made_code)(void *ctx, taddr addr);
	int root;		/* the target's root directory (O_PATH), or -1 */
	void *ctx;
};

struct naming_options {
	bool debuginfod;
	int stop;		/* when this descriptor becomes readable, the lookup of names ends; 0: none */
	/*
	 * Gets the results: facts of MMT_NAMES and MMT_NOTE (on files that gave no names). 0, or -errno to
	 * end naming_run.
	 */
	int (*put)(void *ctx, const struct fact *f);
	void *ctx;
};

/*
 * Name the frames of @d for which @wanted[index] is true (NULL: all) and that have no names yet. @put may
 * (and should) add the facts to @d itself. 0, -ENOMEM, or what @put returned.
 */
must_check int naming_run(const struct defs *d, const bool *wanted, const struct naming_files *files,
			  const struct naming_options *opt);

/*
 * Files of this machine, for a trace: by the module's path, if the file there has the same build id. If the
 * trace has no build id, the file is used with a note.
 */
struct naming_local;
must_check int naming_local_new(const struct defs *d, struct naming_local **out, struct naming_files *files);
void naming_local_free(struct naming_local *n);

#endif
