/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_heaps.h"

#include <errno.h>

#include "attach/sampling/blocks/glibc_heap.h"
#include "attach/target/linker.h"
#include "base/log.h"

static int refuse(const struct module *m)
{
	if (m)
		log_error("--budget works with glibc's malloc only, and here malloc is that of %s", m->name);
	else
		log_error("--budget works with glibc's malloc only, and here it is not known where malloc is");
	log_hint("what became of a block is read from the headers that glibc keeps; without --budget every "
		 "call is seen, of any malloc");
	return -ENOTSUP;
}

int sampling_heaps_open(pid_t pid, const struct modules *ms, struct sampling_heaps *out)
{
	const struct module *m = linker_binds(ms, "malloc");

	(void)pid;
	*out = (struct sampling_heaps){ 0 };
	return m && module_is_glibc(m) ? glibc_heap_new(&out->glibc) : refuse(m);
}

void sampling_heaps_close(struct sampling_heaps *h)
{
	block_heap_free(h->glibc);
	*h = (struct sampling_heaps){ 0 };
}

bool sampling_heaps_born(const struct sampling_heaps *h, const struct block_hit *hit, struct block_birth *out)
{
	return h->glibc && h->glibc->born(h->glibc, hit, out);
}
