/* SPDX-License-Identifier: MIT */
/*
 * broken.bpf: the programs of the second engine, made to be wrong in one way, to show that it is noticed
 * (test_broken_programs.py):
 *
 *	BROKEN_LOSES		one hit in a thousand has no record, and is not counted as lost
 *	BROKEN_LOSES_LATER	the same, but not in the self-test: only in processes that are not mmattach's
 *	BROKEN_SHARES		nothing keeps the kernel from giving them stacks that threads share
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#ifdef BROKEN_SHARES
#define bpf_tail_call(ctx, map, index) ((void)(ctx))
#else
unsigned long long hits_so_far;

static __always_inline int is_ours(void)
{
#ifdef BROKEN_LOSES_LATER
	char name[16] = "";

	bpf_get_current_comm(name, sizeof(name));
	return name[0] == 'm' && name[1] == 'm';
#else
	return 0;
#endif
}

static __always_inline unsigned long long cookie_or_none(void *ctx)
{
	if (!is_ours() && __sync_fetch_and_add(&hits_so_far, 1) % 1000 == 999)
		return 0xffffffffull;	/* no site has this number */
	return bpf_get_attach_cookie(ctx);
}

#define bpf_get_attach_cookie(ctx) cookie_or_none(ctx)
#endif

#include "attach/uprobe/uprobe.bpf.c"
