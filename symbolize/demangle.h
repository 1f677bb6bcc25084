/* SPDX-License-Identifier: MIT */
/*
 * demangle: turns a linker's name into the form used in source code: C++ (by the C++ library), Rust's old
 * mangling (symbolize/rust/rust_legacy.h) and its new one (symbolize/rust/rust_v0.h).
 *
 * A short C++ name can expand to gigabytes of text, and the C++ library has no limit for that: a caller that
 * demangles names from untrusted files must limit the memory of its whole process.
 */
#ifndef MM_DEMANGLE_H
#define MM_DEMANGLE_H

#include <stdbool.h>

#include "base/strbuf.h"

/* Append what @name stands for. false, and nothing appended, if it is not mangled or cannot be read. */
bool demangle(const char *name, struct strbuf *out);

#endif
