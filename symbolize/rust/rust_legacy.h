/* SPDX-License-Identifier: MIT */
/*
 * rust_legacy: Rust's old mangling: _ZN, parts with their lengths, a hash of 16 digits as the last part, E.
 * Inside the parts $..$ encodes characters that a linker's name cannot contain.
 *
 *	_ZN4core3ptr8non_null16NonNull$LT$T$GT$4cast17h0123456789abcdefE
 *	core::ptr::non_null::NonNull<T>::cast
 */
#ifndef MM_RUST_LEGACY_H
#define MM_RUST_LEGACY_H

#include <stdbool.h>

#include "base/strbuf.h"

/* Append @name demangled, without the hash. false, and nothing appended, if it has not this form. */
bool rust_legacy(const char *name, struct strbuf *out);

#endif
