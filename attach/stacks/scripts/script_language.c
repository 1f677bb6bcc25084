/* SPDX-License-Identifier: MIT */
#include "attach/stacks/scripts/script_language.h"

#include <unistd.h>

#include "attach/target/datasyms.h"

bool script_read(int mem, taddr addr, void *buf, size_t n)
{
	return pread(mem, buf, n, (off_t)addr) == (ssize_t)n;
}

bool script_read_word(int mem, taddr addr, uint64_t *out)
{
	return script_read(mem, addr, out, sizeof(*out));
}

bool script_data_of(const struct module *m, const char *name, taddr *out)
{
	if (!m->img || !elfimage_elf(m->img) || !datasyms_find(elfimage_elf(m->img), name, out))
		return false;
	*out += m->bias;
	return true;
}

bool script_loop_of(const struct module *m, const char *name, struct code_range *out)
{
	uint64_t size;
	bool ifunc;

	if (elfimage_find(m->img, name, &out->lo, &size, &ifunc) != 0 || !size)
		return false;
	out->lo += m->bias;
	out->hi = out->lo + size;
	return true;
}
