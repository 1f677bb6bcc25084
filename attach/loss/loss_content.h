/* SPDX-License-Identifier: MIT */
/*
 * loss_content: what the lost blocks are, by what is in them: where no watch has seen the code that allocates them, the
 * class of a C++ object or a text often names it.
 *
 *	"990 of 136 bytes (C++ class Acl::OrNode), 896 of 40 (text: "acl rule9 all-of loc ports", ...)"
 */
#ifndef MM_LOSS_CONTENT_H
#define MM_LOSS_CONTENT_H

#include "attach/loss/loss.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "heap/snapshot/snapshot.h"

struct modules;

/*
 * @lost: what was lost, by size, and @sum, how much of each, as loss_between leaves both. @copy: the memory, with these
 * blocks in it; the files of @modules are added to it. NULL: there is none, and the text has only sizes. 0,
 * whatever is known; -ENOMEM.
 */
must_check int loss_content_put(struct strbuf *sb, const struct loss *lost, const struct loss_sum *sum,
				struct snapshot *copy, struct modules *modules);

#endif
