/* SPDX-License-Identifier: MIT */
/*
 * madecode: the names that JIT compilers give the code they make, without the mark of how well it is compiled.
 *
 * A function is compiled again and again, elsewhere and under nearly the same name:
 *
 *	JS:~work app.js:3:10, JS:^work app.js:3:10, JS:*work app.js:3:10	V8; older ones LazyCompile:*work app.js:3
 *	void [svc] Cache::Add()[Tier0], ...[OptimizedTier1]				.NET
 */
#ifndef MM_MADECODE_H
#define MM_MADECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

uint64_t madecode_hash(const char *name);
bool madecode_same(const char *a, const char *b);

/* The name without the mark: of the same function it is always the same. */
void madecode_put(struct strbuf *sb, const char *name);

#endif
