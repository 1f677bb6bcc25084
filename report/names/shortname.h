/* SPDX-License-Identifier: MIT */
/*
 * shortname: a demangled name, shortened.
 *
 *	std::unique_ptr<Req>* shop::Pool<Req>::make<int>(int, char const*) const [clone .isra.0]
 *
 *	short	shop::Pool::make	no return type, arguments, template arguments, anonymous namespaces,
 *				std::__cxx11
 *	tail	Pool::make, make	without outer scopes, until it fits; a lambda as "serve::{lambda#2}"
 *	base	make			the function's own name, as in DWARF; there with template arguments
 *
 * Written for the output of the C++ and Rust demanglers. A name with another syntax is left as it is.
 */
#ifndef MM_SHORTNAME_H
#define MM_SHORTNAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/*
 * At most @width characters, if leaving out outer scopes is enough for that; otherwise the whole last part.
 */
void shortname(struct strbuf *sb, const char *name, size_t width);

/*
 * The same with template arguments, each in its short form: "Pool<Req>::make<int>"; without the library's
 * defaults, as std::allocator.
 */
void shortname_arguments(struct strbuf *sb, const char *name, size_t width);

/*
 * As many of the template arguments, and of theirs, as fit into @width characters:
 * "vector<shared_ptr<Order>>::push_back", "vector<shared_ptr>::push_back", "vector::push_back".
 */
void shortname_full(struct strbuf *sb, const char *name, size_t width);

/* @templated: template arguments follow the base name. */
void shortname_base(struct strbuf *sb, const char *name, bool *templated);

#endif
