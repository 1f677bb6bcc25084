/* SPDX-License-Identifier: MIT */
/*
 * madecode: the names that JIT compilers give to the code they generate, without the mark for the level of
 * optimization.
 *
 * A function is compiled repeatedly, each time at another address and under nearly the same name:
 *
 *	JS:~work app.js:3:10, JS:^work app.js:3:10, JS:*work app.js:3:10	V8
 *	LazyCompile:*work app.js:3						older V8
 *	void [svc] Cache::Add()[Tier0], ...[OptimizedTier1]			.NET
 *
 * What belongs to no file of code, but has a file in its name, is a frame of a script: file and line count,
 * too.
 */
#ifndef MM_MADECODE_H
#define MM_MADECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "trace/defs.h"

/* The name of a frame whose code belongs to no file; NULL: it does, or has no name. */
const struct defs_name *madecode_name(const struct defs *d, const struct defs_frame *f);

/* Of names with a function. */
uint64_t madecode_hash(const struct defs_name *name);
bool madecode_same(const struct defs_name *a, const struct defs_name *b);

/* The name without the mark: always the same for one function. */
void madecode_put(struct strbuf *sb, const char *name);

#endif
