/* SPDX-License-Identifier: MIT */
/*
 * unread: modules whose file could not be read: it was deleted and we are an ordinary user, or no more files
 * could be opened. Nothing in them is watched, and without their names in the report it would seem that it
 * was.
 *
 * A file that was read but is not ELF (mostly code that a JIT compiler has put into a file) is not among
 * them: it has no functions to be watched.
 */
#ifndef MM_UNREAD_H
#define MM_UNREAD_H

#include "attach/target/modules.h"

/* Call @put with a sentence for each reason, which names the modules. 0 or -ENOMEM. */
must_check int unread_tell(const struct modules *ms, void (*put)(void *ctx, const char *sentence),
			   void *ctx);

#endif
