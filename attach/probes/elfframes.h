/* SPDX-License-Identifier: MIT */
/*
 * elfframes: where functions begin and end, as .eh_frame says.
 *
 * The unwinder needs this table, so it survives stripping: the one thing that
 * still tells the extent of a static function.
 */
#ifndef MM_ELFFRAMES_H
#define MM_ELFFRAMES_H

#include <libelf.h>
#include <stddef.h>

#include "attach/probes/elfimage.h"
#include "base/cleanup.h"

struct elfframes {
	struct code_range *v;	/* one per FDE, by address */
	size_t n;
};

/* 0 or -ENOMEM; a file without the table, or with a broken one, gives what can be read. */
must_check int elfframes_load(Elf *elf, struct elfframes *out);
void elfframes_fini(struct elfframes *frames);

/* The number of FDEs that begin before or at @addr: the last of them is the one that may cover it. */
size_t elfframes_upto(const struct elfframes *frames, taddr addr);

/* The FDE that covers @addr, or NULL. */
const struct code_range *elfframes_over(const struct elfframes *frames, taddr addr);

#endif
