/* SPDX-License-Identifier: MIT */
/* option_blocks: handlers of the options of `mmattach report` that ask for single blocks (see option_table.h). */
#ifndef MM_OPTION_BLOCKS_H
#define MM_OPTION_BLOCKS_H

#include "attach/options/options.h"

int option_block_list(struct options *o, const char *arg, struct usage_error *err);
int option_block_at(struct options *o, const char *arg, struct usage_error *err);

/* ADDR,... behind those in *@list (*@n of them), for any option. As a handler. */
int option_addresses(const char *option, taddr **list, size_t *n, const char *arg, struct usage_error *err);

#endif
