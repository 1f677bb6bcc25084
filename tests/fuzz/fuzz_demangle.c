/* SPDX-License-Identifier: MIT */
/*
 * demangle: names come from the target's files. Our own code reads Rust's: the text stays within its limit.
 * C++ names are read by the C++ library, which has no limit; the fuzzer gives it only short ones.
 */
#include "symbolize/demangle.h"

#include "symbolize/rust/rust_legacy.h"
#include "symbolize/rust/rust_v0.h"
#include "tests/fuzz/fuzz.h"

#define CXX_MAX 48

typedef bool decoder(const char *name, struct strbuf *out);

/* Appends, or leaves the buffer unchanged. */
static void try(decoder *decode, const char *name, size_t limit)
{
	struct strbuf out = STRBUF_INIT;

	strbuf_puts(&out, "x");
	if (decode(name, &out))
		promised(!strbuf_error(&out) && out.len <= limit + 1);
	else
		promised(out.len == 1);
	promised(strbuf_str(&out)[0] == 'x');
	strbuf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = fuzz_text(data, size);

	if (!name)
		return 0;
	try(rust_legacy, name, 4 * size);
	try(rust_v0, name, 1u << 16);
	if (size <= CXX_MAX)
		try(demangle, name, 1u << 16);
	free(name);
	return 0;
}
