/* SPDX-License-Identifier: MIT */
/*
 * rust_v0: Rust's new mangling (RFC 2603): _R and a path.
 *
 *	_RNvMs_NtCs1234_7mycrate3fooNtB4_3Bar3baz
 *	<mycrate::foo::Bar>::baz
 *
 * Crates are printed without their hashes, constants without their types. Back references make a
 * short name stand for a long text: depth, steps and length have limits.
 */
#ifndef MM_RUST_V0_H
#define MM_RUST_V0_H

#include <stdbool.h>

#include "base/strbuf.h"

/* Append @name demangled. false, and nothing appended, if it has not this form. */
bool rust_v0(const char *name, struct strbuf *out);

#endif
