/* SPDX-License-Identifier: MIT */
#include "attach/many/named.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/options/options.h"
#include "attach/target/diagnose.h"
#include "attach/target/target_find.h"
#include "base/log.h"
#include "base/strbuf.h"

/* Without --all a name is that of one process. */
static int find_by_name(const struct options *o, pid_t *pid)
{
	cleanup_strbuf struct strbuf listing = STRBUF_INIT;
	struct diagnosis d;
	int r = target_find(o->name, pid, &listing);

	if (r == 0)
		return 0;
	diagnose_lookup(0, o->name, r, strbuf_str(&listing), &d);
	diagnose_log(&d);
	return r;
}

/* A number may be that of a thread. */
int named_find(struct named *r, const struct options *o)
{
	const bool named = o->name && !o->many.all;

	r->n = o->many.tree || named ? 1 : o->many.npids;
	r->pids = calloc(r->n + 1, sizeof(*r->pids));
	if (!r->pids) {
		log_error_errno(ENOMEM, "cannot begin");
		return -ENOMEM;
	}
	if (named)
		return find_by_name(o, &r->pids[0]);
	for (size_t i = 0; i < r->n; i++) {
		const pid_t id = o->many.tree ? o->many.tree : o->many.pids[i];
		const pid_t pid = procs_process_of(id);

		r->pids[i] = pid ? pid : id;
	}
	return 0;
}

void named_fini(struct named *r)
{
	free(r->pids);
	*r = (struct named){ 0 };
}

const char *named_why_not(int proc, pid_t pid, struct procstat *st)
{
	if (procstat_read(proc, pid, st) < 0)
		return "there is no such process";
	if (st->kernel_thread)
		return "it is a kernel thread";
	return st->state == 'Z' || st->state == 'X' ? "it has ended (a zombie)" : "it belongs to this mmattach";
}
