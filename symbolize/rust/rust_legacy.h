/* SPDX-License-Identifier: MIT */
/*
 * rust_legacy: Rust's old mangling: _ZN, parts with their lengths, a hash of 16
 * digits as the last part, E. Inside the parts $..$ stands for what a linker's name cannot hold.
 *
 *	_ZN4core3ptr8non_null16NonNull$LT$T$GT$4cast17h0123456789abcdefE
 *	core::ptr::non_null::NonNull<T>::cast
 */
#ifndef MM_RUST_LEGACY_H
#define MM_RUST_LEGACY_H

#include <stdbool.h>

#include "base/strbuf.h"

/* Append what @name stands for, without the hash. false, and nothing appended, if it is none. */
bool rust_legacy(const char *name, struct strbuf *out);

#endif
