/* SPDX-License-Identifier: MIT */
/* target_find: see target_find.h. */
#include "attach/target/target_find.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/target/target.h"
#include "base/fdio.h"
#include "base/grow.h"
#include "report/model/format_text.h"

#define COLUMN_RSS 10
#define COMMAND_SHOWN 300	/* characters */

struct found {
	struct target_info *all;
	size_t n, room;
};

/* --- as a table --- */

static int larger_first(const void *pa, const void *pb)
{
	const struct target_info *a = pa, *b = pb;

	if (a->rss_bytes != b->rss_bytes)
		return a->rss_bytes > b->rss_bytes ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* All of a command line may be megabytes. */
static void put_command(const struct target_info *t, struct strbuf *sb)
{
	cleanup_strbuf struct strbuf command = STRBUF_INIT;
	size_t shown;

	target_format_cmdline(t, &command);
	if (strbuf_error(&command) && !sb->err)
		sb->err = strbuf_error(&command);
	shown = format_bytes(strbuf_str(&command), command.len, COMMAND_SHOWN);
	strbuf_append(sb, strbuf_str(&command), shown);
	strbuf_puts(sb, shown < command.len ? " ...\n" : "\n");
}

static void put_row(const struct target_info *t, struct strbuf *sb)
{
	cleanup_strbuf struct strbuf rss = STRBUF_INIT;

	strbuf_printf(sb, "%7d  %7d  ", (int)t->pid, (int)t->parent);
	format_size(&rss, t->rss_bytes);
	format_right(sb, &rss, COLUMN_RSS);
	strbuf_puts(sb, "  ");
	put_command(t, sb);
}

static void put_table(struct found *f, struct strbuf *sb)
{
	qsort(f->all, f->n, sizeof(*f->all), larger_first);
	strbuf_printf(sb, "%7s  %7s  %*s  COMMAND\n", "PID", "PARENT", COLUMN_RSS, "RSS");
	for (size_t i = 0; i < f->n; i++)
		put_row(&f->all[i], sb);
}

/* --- the search --- */

static bool base_name_is(const char *path, const char *name)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return path && !strcmp(slash ? slash + 1 : path, name);
}

bool target_is_called(const char *comm, const char *exe, const char *argv0, const char *name)
{
	return !strcmp(comm, name) || base_name_is(exe, name) || base_name_is(argv0, name);
}

/* Is @t one that is looked for? Not if it has ended. */
static bool wanted(const struct target_info *t, const char *name)
{
	return t->state != 'Z' && t->state != 'X' &&
	       target_is_called(t->comm, t->exe, t->argv[0], name);
}

/* Add the process @pid if it is called @name. A process that has ended meanwhile is no error. 0 or -ENOMEM. */
static int check(struct found *f, pid_t pid, const char *name)
{
	struct target_info t;
	int r = target_read_names(pid, &t);

	if (r == 0 && wanted(&t, name)) {
		r = grow_for(&f->all, f->n, &f->room, sizeof(*f->all));
		if (r == 0) {
			f->all[f->n++] = t;
			return 0;
		}
	}
	target_fini(&t);
	return r == -ENOMEM ? r : 0;
}

static int find_all(const char *name, struct found *f)
{
	cleanup_closedir DIR *dir = opendir("/proc");
	struct dirent *d;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (d = readdir(dir))) {
		const pid_t id = (pid_t)strtol(d->d_name, NULL, 10);

		if (id > 0 && id != getpid())
			r = check(f, id, name);
	}
	return r;
}

int target_find(const char *name, pid_t *pid, struct strbuf *listing)
{
	struct found f = { 0 };
	int r = find_all(name, &f);

	if (r == 0 && f.n == 1)
		*pid = f.all[0].pid;
	else if (r == 0)
		r = f.n ? -EEXIST : -ENOENT;
	if (r == -EEXIST)
		put_table(&f, listing);
	for (size_t i = 0; i < f.n; i++)
		target_fini(&f.all[i]);
	free(f.all);
	return r;
}
