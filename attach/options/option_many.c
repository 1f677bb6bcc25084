/* SPDX-License-Identifier: MIT */
#include "attach/options/option_many.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/option_arg.h"

#define LEAST_ID 12		/* digits of a container's id */
#define BETWEEN ", \n"		/* two numbers: "1,2", or the output of pgrep */

/* --- the handlers --- */

static int add_pid(struct options *o, const char *word, size_t n, struct usage_error *err)
{
	char digits[16] = "";
	unsigned long pid;
	pid_t *grown;

	memcpy(digits, word, n < sizeof(digits) ? n : 0);
	if (!option_number(digits, INT_MAX, &pid) || !pid) {
		usage_refuse(err, "-p %.*s: not a process id", (int)n, word);
		return usage_advise(err, "a process id is a number, as `ps -e` shows it; to choose by name: -n %.*s",
				    (int)n, word);
	}
	for (size_t i = 0; i < o->many.npids; i++)
		if (o->many.pids[i] == (pid_t)pid)
			return 0;
	grown = reallocarray(o->many.pids, o->many.npids + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	o->many.pids = grown;
	o->many.pids[o->many.npids++] = (pid_t)pid;
	o->pid = o->many.pids[0];
	return 0;
}

int option_pid(struct options *o, const char *arg, struct usage_error *err)
{
	int ret = 0;

	if (!arg[strspn(arg, BETWEEN)])
		return add_pid(o, arg, strlen(arg), err);
	for (size_t n; ret == 0 && *arg; arg += n) {
		arg += strspn(arg, BETWEEN);
		n = strcspn(arg, BETWEEN);
		if (n)
			ret = add_pid(o, arg, n, err);
	}
	return ret;
}

int option_tree(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned long pid;

	if (o->many.tree)
		return usage_refuse(err, "--tree is given twice");
	if (!option_number(arg, INT_MAX, &pid) || !pid) {
		usage_refuse(err, "--tree %s: not a process id", arg);
		return usage_advise(err, "a process id is a number, as `ps -e` shows it");
	}
	o->many.tree = (pid_t)pid;
	return 0;
}

int option_cgroup(struct options *o, const char *arg, struct usage_error *err)
{
	if (*arg != '/' || !arg[strspn(arg, "/")]) {
		usage_refuse(err, "--cgroup %s: must be the path of a cgroup", arg);
		return usage_advise(err, "as /proc/PID/cgroup shows it: /system.slice/nginx.service");
	}
	o->many.cgroup = arg;
	return 0;
}

int option_unit(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg || strchr(arg, '/')) {
		usage_refuse(err, "--unit %s: must be the name of a unit", arg);
		return usage_advise(err, "as `systemctl list-units` shows it: nginx.service");
	}
	o->many.unit = arg;
	return 0;
}

int option_container(struct options *o, const char *arg, struct usage_error *err)
{
	const size_t n = strspn(arg, "0123456789abcdef");

	if (n < LEAST_ID || arg[n]) {
		usage_refuse(err, "--container %s: must be the id of a container: 12 hexadecimal digits, or more", arg);
		return usage_advise(err, "`docker ps`, `podman ps` or `crictl ps` show it; no daemon is asked, so "
					 "a name is not known");
	}
	o->many.container = arg;
	return 0;
}

int option_budget_of(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--budget-of", BUDGET_OF_VALUES, arg, &which, err);

	if (ret == 0)
		o->many.budget_shared = which;
	return ret;
}

/* --- what fits together --- */

int option_many_groups(const struct options *o)
{
	return !!o->many.tree + !!o->many.cgroup + !!o->many.unit + !!o->many.container;
}

bool option_many_wanted(const struct options *o)
{
	return o->command == COMMAND_WATCH &&
	       (o->many.npids > 1 || o->many.all || option_many_groups(o) || o->follow);
}

/* What a report of several processes does not have. */
static const char *against_many(const struct options *o)
{
	if (o->interval_ns)
		return "--interval: several processes have one report, at the end";
	if (o->metrics)
		return "--metrics: a file of metrics is of one process";
	if (o->trace.rotate_bytes)
		return "--rotate: traces of several processes are not rotated";
	if (o->single.nwho_points_at || o->single.who_points_at_verdict != VERDICT_UNKNOWN)
		return "--who-points-at: addresses are of one process";
	if (o->shown.older_than_ns)
		return "--older-than: several processes have one report, of sums, without single blocks";
	if (o->shown.per_object)
		return "--per-object: several processes have one report, of sums, without single objects";
	return NULL;
}

static int check_single(const struct options *o, struct usage_error *err)
{
	if (o->many.budget_shared)
		return usage_refuse(err, "--budget-of all: one process is watched");
	if (o->many.npids > 1) {
		usage_refuse(err, "-p: one process at a time");
		return usage_advise(err, "of the commands, only watch takes several");
	}
	return 0;
}

int option_many_check(const struct options *o, struct usage_error *err)
{
	const char *why;

	if (o->many.all && !o->name)
		return usage_refuse(err, "--all is for a name: -n NAME --all");
	if (!option_many_wanted(o))
		return check_single(o, err);
	if (o->many.budget_shared && !o->budget_ppm)
		return usage_refuse(err, "--budget-of: there is no budget");
	why = against_many(o);
	if (!why)
		return 0;
	usage_refuse(err, "%s", why);
	return usage_advise(err, "watch one process for that: -p PID");
}
