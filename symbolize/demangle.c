/* SPDX-License-Identifier: MIT */
/*
 * demangle: see demangle.h. Rust's old mangling differs from C++ only by the hash at its end, so it is tried
 * first.
 */
#include "symbolize/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "symbolize/rust/rust_legacy.h"
#include "symbolize/rust/rust_v0.h"

#define NAME_MAX_BYTES (1u << 16)	/* of a mangled name */
#define TEXT_MAX_BYTES (1u << 16)	/* of the demangled name: longer ones are of no use to a reader */

/* The C++ runtime's own, with C linkage (cxxabi.h is for C++ only). */
extern char *__cxa_demangle(const char *name, char *buf, size_t *n, int *status);

static bool demangle_cxx(const char *name, struct strbuf *out)
{
	int status;
	char *text;

	if (strncmp(name, "_Z", 2) != 0)
		return false;
	text = __cxa_demangle(name, NULL, NULL, &status);
	if (text && strlen(text) <= TEXT_MAX_BYTES)
		strbuf_puts(out, text);
	else
		status = -1;
	free(text);
	return status == 0;
}

bool demangle(const char *name, struct strbuf *out)
{
	if (strnlen(name, NAME_MAX_BYTES + 1) > NAME_MAX_BYTES)
		return false;
	return rust_legacy(name, out) || rust_v0(name, out) || demangle_cxx(name, out);
}
