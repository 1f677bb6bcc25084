/* SPDX-License-Identifier: MIT */
/*
 * A GlusterFS translator that does not stay: leaky_xlator.c loads it, and has unloaded it before the
 * allocation sites of its blocks and dicts are looked up.
 *
 * Each notification loses a new dict, and a note. The notes are of a common type: they are accounted to the
 * translator that loaded this one, and that one does not know its own types.
 */
#include "translator.h"

int passing_notify(xlator_t *this, int event, void *data, ...);
void *passing_note(void);

__attribute__((noinline)) void *passing_note(void)
{
	void *note = GF_MALLOC(100, gf_common_mt_char);

	__asm__ volatile("" : "+r"(note));
	return note;
}

int passing_notify(xlator_t *this, int event, void *data, ...)
{
	const int *ledger = data;

	tell_lost(*ledger, "passing-dict", dict_new());
	tell_lost(*ledger, "passing-note", passing_note());
	return 0;
}

static int32_t passing_init(xlator_t *this)
{
	return 0;
}

static struct xlator_fops passing_fops;
static struct xlator_cbks passing_cbks;

xlator_api_t xlator_api = {
	.init = passing_init,
	.notify = passing_notify,
	.op_version = { 1 },
	.fops = &passing_fops,
	.cbks = &passing_cbks,
	.identifier = "passing",
	.category = GF_EXPERIMENTAL,
};
