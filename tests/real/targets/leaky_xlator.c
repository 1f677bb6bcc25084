/* SPDX-License-Identifier: MIT */
/*
 * A pass-through GlusterFS translator that loses what it should release: the request's dict in one lookup of
 * ten, the inode in one stat of ten, and a note of its own for each mkdir. The mkdir of a folder called
 * "passing" loads another translator (passing_xlator.c), lets it lose as well, and unloads it.
 *
 * Every loss is recorded in the ledger (translator.h). The functions are not static: the dynamic symbols of a
 * stripped translator still name them then, as they name most of GlusterFS' own.
 */
#include <dlfcn.h>

#include "translator.h"

#define ONE_IN 10
#define NOTE_BYTES 200
#define PASSING_NOTES 7

enum leaky_memory {
	gf_leaky_mt_note = gf_common_mt_end + 1,
	gf_leaky_mt_end,
};

struct leaky {
	int ledger;
	const char *passing;	/* the other translator's type */
	gf_atomic_t lookups, stats;
};

int32_t leaky_lookup(call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata);
int32_t leaky_stat(call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata);
int32_t leaky_mkdir(call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask, dict_t *xdata);

static bool is_the_tenth(gf_atomic_t *calls)
{
	return GF_ATOMIC_INC(*calls) % ONE_IN == 0;
}

int32_t leaky_lookup(call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
	struct leaky *leaky = this->private;

	if (xdata && is_the_tenth(&leaky->lookups))
		tell_lost(leaky->ledger, "dict", dict_ref(xdata));
	return default_lookup(frame, this, loc, xdata);
}

int32_t leaky_stat(call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
	struct leaky *leaky = this->private;

	if (is_the_tenth(&leaky->stats))
		tell_lost(leaky->ledger, "inode", inode_ref(loc->inode));
	return default_stat(frame, this, loc, xdata);
}

/*
 * Load a translator as libglusterfs does, use it, and unload it as the translators of an old graph are
 * unloaded.
 */
static void load_use_unload(xlator_t *this, const char *type)
{
	xlator_t *passing = GF_CALLOC(1, sizeof(*passing), gf_common_mt_xlator_t);

	if (!passing)
		return;
	passing->name = "passing";
	passing->ctx = this->ctx;
	passing->graph = this->graph;
	INIT_LIST_HEAD(&passing->volume_options);
	if (xlator_set_type(passing, (char *)type) == 0) {
		struct leaky *leaky = this->private;

		for (int i = 0; i < PASSING_NOTES; i++)
			passing->notify(passing, GF_EVENT_VOLFILE_MODIFIED, &leaky->ledger);
		dlclose(passing->dlhandle);
	}
	GF_FREE(passing->type);
	GF_FREE(passing);
}

int32_t leaky_mkdir(call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask, dict_t *xdata)
{
	struct leaky *leaky = this->private;

	tell_lost(leaky->ledger, "note", GF_MALLOC(NOTE_BYTES, gf_leaky_mt_note));
	if (strcmp(loc->name, "passing") == 0)
		load_use_unload(this, leaky->passing);
	return default_mkdir(frame, this, loc, mode, umask, xdata);
}

static int32_t leaky_account_memory(xlator_t *this)
{
	return xlator_mem_acct_init(this, gf_leaky_mt_end);
}

static int32_t leaky_init(xlator_t *this)
{
	struct leaky *leaky = GF_CALLOC(1, sizeof(*leaky), gf_leaky_mt_note);
	char *ledger = NULL;

	if (!leaky || dict_get_str(this->options, "ledger", &ledger) ||
	    dict_get_str(this->options, "passing", (char **)&leaky->passing))
		return -1;
	leaky->ledger = open(ledger, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (leaky->ledger < 0)
		return -1;
	GF_ATOMIC_INIT(leaky->lookups, 0);
	GF_ATOMIC_INIT(leaky->stats, 0);
	this->private = leaky;
	return 0;
}

static struct xlator_fops leaky_fops = {
	.lookup = leaky_lookup,
	.stat = leaky_stat,
	.mkdir = leaky_mkdir,
};
static struct xlator_cbks leaky_cbks;

xlator_api_t xlator_api = {
	.init = leaky_init,
	.mem_acct_init = leaky_account_memory,
	.op_version = { 1 },
	.fops = &leaky_fops,
	.cbks = &leaky_cbks,
	.identifier = "leaky",
	.category = GF_EXPERIMENTAL,
};
