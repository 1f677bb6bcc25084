/* SPDX-License-Identifier: MIT */
#include "attach/watch/livenames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "attach/events/recorder.h"
#include "attach/target/modules.h"
#include "attach/target/targetfs.h"
#include "report/groups/groups.h"
#include "report/names/naming.h"
#include "symbolize/perfmap.h"

struct source {
	struct recorder *recorder;
	const struct modules *modules;
	const struct targetfs *fs;
	struct perfmap map;
	bool map_read, map_there;
};

static int open_module(void *ctx, uint32_t module, char *why, size_t why_size)
{
	struct source *src = ctx;
	const struct module *m = modules_at(src->modules, src->recorder->ledger.defs.modules[module].number);

	if (m->img)
		return elfimage_fd(m->img);
	snprintf(why, why_size, "%s", m->why_not);
	return -ENOENT;
}

static void read_map(struct source *src)
{
	int r = targetfs_read_perfmap(src->fs, &src->map);

	src->map_read = true;
	src->map_there = r == 0;
	if (r < 0 && r != -ENOENT)
		recorder_note(src->recorder, src->recorder->ledger.now_us,
			      "no names for code made at run time: its map, /tmp/perf-%d.map, %s",
			      (int)src->fs->inner_pid,
			      r == -EFBIG ? "is too large" : "is not to be trusted or cannot be read");
}

static const char *made_code(void *ctx, taddr addr)
{
	struct source *src = ctx;

	if (!src->map_read)
		read_map(src);
	return src->map_there ? perfmap_find(&src->map, addr) : NULL;
}

static int put(void *ctx, const struct fact *f)
{
	struct recorder *r = ctx;
	struct fact now = *f;

	now.time_us = r->ledger.now_us;
	recorder_put(r, &now);
	return r->out_of_memory ? -ENOMEM : 0;
}

int livenames_run(struct recorder *r, const struct modules *ms, const struct targetfs *fs,
		  const struct livenames_options *opt)
{
	struct source src = { .recorder = r, .modules = ms, .fs = fs };
	const struct naming_files files = {
		.open = open_module, .made_code = made_code, .root = fs->root, .ctx = &src,
	};
	const struct naming_options naming = {
		.debuginfod = opt->debuginfod, .stop = opt->stop, .put = put, .ctx = r,
	};
	cleanup_free bool *wanted = calloc(r->ledger.defs.nframes + 1, sizeof(*wanted));
	int err = wanted ? 0 : -ENOMEM;

	if (err == 0 && !opt->all)
		err = groups_wanted(&r->ledger, opt->freed, wanted);
	if (err == 0)
		err = naming_run(&r->ledger.defs, opt->all ? NULL : wanted, &files, &naming);
	if (src.map_there)
		perfmap_fini(&src.map);
	return err;
}
