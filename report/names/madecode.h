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
 */
#ifndef MM_MADECODE_H
#define MM_MADECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

uint64_t madecode_hash(const char *name);
bool madecode_same(const char *a, const char *b);

/* The name without the mark: always the same for one function. */
void madecode_put(struct strbuf *sb, const char *name);

#endif
