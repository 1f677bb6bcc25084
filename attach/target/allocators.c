/* SPDX-License-Identifier: MIT */
#include "attach/target/allocators.h"

#include <string.h>

#include "attach/probes/code/elfslots.h"
#include "base/fdio.h"

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* The file of glibc is libc.so.6. A static program has the functions that are musl's own. */
static bool is_musl(const struct module *m)
{
	taddr ignored;

	return begins(m->name, "ld-musl-") || !strcmp(m->name, "libc.so") ||
	       module_symbol(m, "__libc_malloc_impl", &ignored) == 0;
}

static bool walks_stack(const char *name)
{
	return begins(name, "_Unwind_Backtrace") || begins(name, "backtrace") || begins(name, "unw_") ||
	       begins(name, "_UL") || begins(name, "_Ux86");
}

/* It leads back into the file, as the linker has left it: the function was never called. */
static bool is_unbound(const struct module *m, int mem, taddr slot)
{
	taddr value;

	return pread_full(mem, &value, sizeof(value), (off_t)(slot + m->bias)) == sizeof(value) && value >= m->lo &&
	       value < m->hi;
}

bool allocator_ignores_stack(const struct module *m, int mem)
{
	const bool jemalloc = begins(m->name, "libjemalloc");
	size_t n, unbound = 0;
	const struct elfslot *slots = elfimage_slots(m->img, &n);

	if (is_musl(m))
		return true;
	if (!jemalloc && !begins(m->name, "libtcmalloc") && !begins(m->name, "libmimalloc"))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!walks_stack(slots[i].name))
			continue;
		if (!jemalloc || !begins(slots[i].name, "_Unwind_Backtrace") || !is_unbound(m, mem, slots[i].slot))
			return false;
		unbound++;
	}
	/* a jemalloc that does not import it may have been built to walk the stack itself */
	return !jemalloc || unbound;
}
