/* SPDX-License-Identifier: MIT */
/*
 * demangle: a linker's name as a person writes it: C++ (the C++ library does
 * that), Rust's old mangling (symbolize/rust/rust_legacy.h) and its new one (symbolize/rust/rust_v0.h).
 *
 * A short C++ name can stand for gigabytes of text, and the C++ library has no limit for that: who demangles
 * names of others limits the memory of the whole process.
 */
#ifndef MM_DEMANGLE_H
#define MM_DEMANGLE_H

#include <stdbool.h>

#include "base/strbuf.h"

/* Append what @name stands for. false, and nothing appended, if it is not mangled or cannot be read. */
bool demangle(const char *name, struct strbuf *out);

#endif
