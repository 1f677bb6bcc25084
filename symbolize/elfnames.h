/* SPDX-License-Identifier: MIT */
/*
 * elfnames: open a file and its debug files, and name addresses in it. This runs in a helper process
 * (symbolize/worker.h): the file may crash it, or keep it busy for ever.
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
	void (*note)(void *ctx, const char *text);	/* something went wrong */
	void (*alive)(void *ctx);	/* called now and then while waiting for the network */
	void (*opened)(void *ctx);	/* no further file will be opened */
	void *ctx;
};

/*
 * Each address is taken once. 0; -ENOMEM: some were not taken; -EINVAL, -EIO: not an ELF file, none was
 * taken.
 */
must_check int elfnames_run(const struct elfnames *l);

#endif
