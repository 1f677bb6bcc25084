/* SPDX-License-Identifier: MIT */
/*
 * demangle: names come from the target's files. Rust's are read by us: text stays within its limit. C++
 * ones are the C++ library's business, which has no limit; here only short ones go there.
 */
#include "symbolize/demangle.h"

#include "symbolize/rust/rust_legacy.h"
#include "symbolize/rust/rust_v0.h"
#include "tests/fuzz/fuzz.h"

#define CXX_MAX 48

typedef bool decoder(const char *name, struct strbuf *out);

/* Appends, or leaves all as it was. */
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
