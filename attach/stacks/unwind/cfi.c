/* SPDX-License-Identifier: MIT */
/* cfi: see cfi.h. Here: which section describes an address; the rest is in cfisection and cfirun. */
#include "attach/stacks/unwind/cfi.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/stacks/unwind/cfirun.h"
#include "symbolize/files/cfisection.h"

struct cfi {
	struct cfi_section eh, debug;
};

int cfi_new(Elf *elf, struct cfi **out)
{
	struct cfi *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = cfi_section_load(elf, true, &c->eh);
	if (!err)
		err = cfi_section_load(elf, false, &c->debug);
	if (err) {
		cfi_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	cfi_section_fini(&c->eh);
	cfi_section_fini(&c->debug);
	free(c);
}

int cfi_find(const struct cfi *c, taddr addr, struct cfi_rule *out)
{
	const struct cfi_section *s = &c->eh;
	const struct cfi_extent *f = cfi_section_over(s, addr);
	struct cfi_program program;
	int err;

	if (!f) {
		s = &c->debug;
		f = cfi_section_over(s, addr);
	}
	if (!f)
		return -ENOENT;
	err = cfi_section_program(s, f, &program);
	return err ? err : cfirun(&program, addr, out);
}

size_t cfi_count(const struct cfi *c)
{
	return c->eh.n + c->debug.n;
}

void cfi_extent(const struct cfi *c, size_t i, taddr *lo, taddr *hi)
{
	const struct cfi_extent *f = i < c->eh.n ? &c->eh.v[i] : &c->debug.v[i - c->eh.n];

	*lo = f->lo;
	*hi = f->hi;
}
