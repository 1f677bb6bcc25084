/* SPDX-License-Identifier: MIT */
/*
 * elfnames: open a file and what belongs to it, and name addresses in it. Runs in a
 * helper process (symbolize/worker.h): what it reads may crash it, or never end.
 */
#ifndef MM_ELFNAMES_H
#define MM_ELFNAMES_H

#include "base/cleanup.h"
#include "symbolize/names.h"

struct elfnames {
	const struct names_file *file;
	const struct names_options *opt;
	bool dwarf;		/* read debug information, not only symbols */
	const taddr *addrs;
	size_t n;
	names_take *take;
	void (*note)(void *ctx, const char *text);	/* something was in the way */
	void (*alive)(void *ctx);	/* called now and then while waiting for the network */
	void (*opened)(void *ctx);	/* no further file will be opened */
	void *ctx;
};

/* Each address is taken once. 0; -ENOMEM: then some were not; -EINVAL, -EIO: not an ELF file, then none was. */
must_check int elfnames_run(const struct elfnames *l);

#endif
