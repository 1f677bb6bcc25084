/* SPDX-License-Identifier: MIT */
/*
 * uprobe_files: which file is mapped at a site, at which offset, and whether its code in memory is the planned one.
 * The kernel probes files; where memory has been changed, nothing is probed.
 */
#ifndef MM_UPROBE_FILES_H
#define MM_UPROBE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/keeper/shared/site.h"
#include "base/cleanup.h"
#include "base/procmaps.h"

struct uprobe_files {
	pid_t pid;
	int mem;			/* /proc/PID/mem */
	struct procmaps maps;
	bool inherits;			/* an int3 of the kernel's may be inherited */
};

/*
 * The mappings of @pid as they are now. @inherits: its parent was watched when it was forked, and it has no tracer: an
 * int3 at a site is the kernel's, copied from there, and the kernel takes it for the probe that it is to make. 0 or
 * -errno; uprobe_files_fini in any case.
 */
must_check int uprobe_files_init(struct uprobe_files *f, pid_t pid, bool inherits);
void uprobe_files_fini(struct uprobe_files *f);

/*
 * The mapping of @s and the offset of the site in its file. 0; -ETXTBSY: mapped shared; -ENOEXEC: no file is mapped
 * there.
 */
must_check int uprobe_files_find(const struct uprobe_files *f, const struct site *s, const struct mapping **m,
				 uint64_t *offset);

/*
 * Have memory, and the open file at @offset, the planned code of @s? Another module may have been mapped meanwhile, or
 * memory changed. A probe of all processes that use the file is no change.
 */
bool uprobe_files_same(const struct uprobe_files *f, int fd, const struct site *s, uint64_t offset);

/* Is there an int3 at @s that is neither the file's nor the kernel's: the program's own, or a debugger's? */
bool uprobe_files_has_trap(const struct uprobe_files *f, const struct site *s);

#endif
