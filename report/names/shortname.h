/* SPDX-License-Identifier: MIT */
/*
 * shortname: a demangled name without what makes it long.
 *
 *	std::unique_ptr<Req>* shop::Pool<Req>::make<int>(int, char const*) const [clone .isra.0]
 *
 *	short	shop::Pool::make		no return type, arguments, template arguments, anonymous namespaces
 *	tail	Pool::make, make		the same with outer scopes left out, until it fits; of a lambda it is "serve::{lambda#2}" then
 *	base	make				the function's own name, which is what DWARF has; there with template arguments
 *
 * Written for what the demanglers of C++ and Rust print. A name that is built in another way comes out as it is.
 */
#ifndef MM_SHORTNAME_H
#define MM_SHORTNAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* At most @width characters of it, if leaving out outer scopes is enough for that; else the last part, whole. */
void shortname(struct strbuf *sb, const char *name, size_t width);

/* The same with template arguments, each in short: "Pool<Req>::make<int>". */
void shortname_arguments(struct strbuf *sb, const char *name, size_t width);

/* @templated: the name goes on with template arguments. */
void shortname_base(struct strbuf *sb, const char *name, bool *templated);

#endif
