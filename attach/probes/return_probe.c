/* SPDX-License-Identifier: MIT */
#include "attach/probes/return_probe.h"

#include <string.h>

#include "attach/probes/plansite.h"
#include "base/libcs.h"
#include "symbolize/files/elffile.h"
#include "symbolize/files/fdetable.h"

/* By name, as the linker has it: those of libstdc++ are _ZSt17__throw_bad_allocv, ... */
static bool throws(const char *name)
{
	static const char *const names[] = { "__cxa_throw", "__cxa_rethrow", "_Unwind_RaiseException",
					     "_Unwind_Resume_or_Rethrow", "_Unwind_ForcedUnwind" };

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return name && strstr(name, "__throw_");
}

/* Have all parts of it no LSDA? Where there is no FDE, or no table of them (musl), no exception passes. */
static bool is_plain(const struct elfimage *img, const struct body *b)
{
	struct fdetable table;
	GElf_Shdr sh;

	if (!elffile_section(elfimage_elf(img), ".eh_frame_hdr", &sh))
		return true;
	fdetable_init(&table, elfimage_elf(img));
	for (size_t i = 0; i < b->nextents; i++) {
		const char *augmentation = fdetable_augmentation(&table, b->extents[i].lo);

		if (!augmentation || strchr(augmentation, 'L'))
			return false;
	}
	return b->nextents;
}

static bool never_throws(const struct body *b)
{
	for (size_t i = 0; i < b->ncalls; i++)
		if (throws(b->calls[i].name))
			return false;
	for (size_t i = 0; i < b->nexits; i++)
		if (b->exits[i].tail && throws(b->exits[i].name))
			return false;
	return true;
}

bool may_probe_return(const struct planning *pl, const struct plan *p, const struct body *b)
{
	const struct rule *r = p->rule;

	if (!pl->opt->kernel_returns)
		return false;
	if (reads_chunk(p, pl->opt))
		return true;
	return pl->opt->other_returns && (r->op == RULE_ALLOC || r->op == RULE_REALLOC) &&
	       libcs_allocator(p->function) && (expr_is_ret(&r->ptr) || expr_is_load(&r->ptr)) &&
	       is_plain(pl->img, b) && never_throws(b);
}
