/* SPDX-License-Identifier: MIT */
/*
 * debuginfod: fetches debug information over the network, with the program debuginfod-find if it is
 * installed. Only if the user asks for it: it discloses to a server what runs here.
 */
#ifndef MM_DEBUGINFOD_H
#define MM_DEBUGINFOD_H

#include <stdint.h>

#include "base/cleanup.h"
#include "symbolize/files/elffile.h"

#define DEBUGINFOD_NS (60 * UINT64_C(1000000000))	/* for one file */

/*
 * Fetch and open the debug file with build-id @id. Meanwhile @waiting is called about once a second. 0;
 * -ENOENT: no program, no server or no such file; -ETIMEDOUT, or another -errno.
 */
must_check int debuginfod_open(const struct build_id *id, void (*waiting)(void *ctx), void *ctx,
			       struct elffile *out);

#endif
