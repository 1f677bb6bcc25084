/* SPDX-License-Identifier: MIT */
/* option_blocks: handlers of the options of `mmattach report` about single blocks (see option_table.h). */
#ifndef MM_OPTION_BLOCKS_H
#define MM_OPTION_BLOCKS_H

#include "attach/options/options.h"

int option_block_list(struct options *o, const char *arg, struct usage_error *err);
int option_block_at(struct options *o, const char *arg, struct usage_error *err);

/* Append the addresses of ADDR,... to *@list (*@n of them), for any option. Returns what a handler does. */
int option_addresses(const char *option, taddr **list, size_t *n, const char *arg, struct usage_error *err);

#endif
