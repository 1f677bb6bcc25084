/* SPDX-License-Identifier: MIT */
/*
 * diagnose: see diagnose.h.
 *
 * The order of the permission rules is that of __ptrace_may_access in the
 * kernel: user and group, capabilities, dumpable, then the security modules
 * (yama). A rule is blamed only if what we know of the target fits it.
 */
#include "attach/target/diagnose.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/log.h"
#include "base/version.h"

/* include/uapi/linux/capability.h */
#define CAP_DAC_OVERRIDE_BIT 1
#define CAP_SYS_PTRACE_BIT 19

static void say(struct diagnosis *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct diagnosis *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d->text, sizeof(d->text), fmt, ap);
	va_end(ap);
	d->hint[0] = '\0';
	d->listing = NULL;
	d->harm = NULL;
	d->other_tracer = false;
}

static void hint(struct diagnosis *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void hint(struct diagnosis *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d->hint, sizeof(d->hint), fmt, ap);
	va_end(ap);
}

/* Every text about a process that exists begins like this. */
#define CANNOT "cannot attach to %d (%s): "
#define WHO(t) (int)(t)->pid, (t)->comm

static unsigned long long status_number(const char *key, int base)
{
	unsigned long long value = 0;
	char *text, *at;
	size_t n;

	if (read_whole_file("/proc/self/status", 1 << 20, &text, &n))
		return 0;
	at = strstr(text, key);
	if (at)
		value = strtoull(at + strlen(key), NULL, base);
	free(text);
	return value;
}

static int read_yama_scope(void)
{
	char *text;
	size_t n;
	int scope;

	if (read_whole_file("/proc/sys/kernel/yama/ptrace_scope", 64, &text, &n))
		return 0;
	scope = (int)strtol(text, NULL, 10);
	free(text);
	return scope;
}

void diagnose_read_self(struct diagnose_self *self)
{
	const unsigned long long caps = status_number("\nCapEff:", 16);

	*self = (struct diagnose_self){
		.pid = getpid(),
		.euid = geteuid(),
		.cap_sys_ptrace = caps >> CAP_SYS_PTRACE_BIT & 1,
		.cap_dac_override = caps >> CAP_DAC_OVERRIDE_BIT & 1,
		.seccomp = status_number("\nSeccomp:", 10) == 2,
		.container = !access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK),
		.yama_scope = read_yama_scope(),
	};
}

void diagnose_lookup(pid_t id, const char *name, int err, const char *listing, struct diagnosis *out)
{
	if (err < 0)
		err = -err;
	if (err == EEXIST) {
		say(out, "several processes are called %s", name);
		hint(out, "choose one of these with -p PID; the first has the most memory");
		out->listing = listing;
	} else if (err == ENOENT) {
		say(out, "no process is called %s", name);
		hint(out, "use a name as `ps -e` shows it, or the program's file name; or -p PID");
	} else if (err == ESRCH) {
		say(out, "no such process: %d", (int)id);
		hint(out, "`ps -e` lists the processes; -n NAME finds one by its name");
	} else if (err == EACCES) {
		say(out, "process %d exists, but /proc does not show it (mounted with hidepid)", (int)id);
		hint(out, "run mmattach as root");
	} else if (name) {
		say(out, "cannot search for a process called %s: %s", name, strerror(err));
	} else {
		say(out, "cannot read the state of process %d: %s", (int)id, strerror(err));
	}
}

static bool is_keeper(const struct target_info *t)
{
	return !strcmp(t->comm, TARGET_KEEPER_COMM);
}

static void blame_tracer(const struct target_info *t, struct diagnosis *out)
{
	if (!strcmp(t->tracer_comm, TARGET_KEEPER_COMM)) {
		say(out, CANNOT "another mmattach watches it already (its keeper is process %d)", WHO(t),
		    (int)t->tracer_pid);
		if (t->tracer_parent > 1)
			hint(out,
			     "kill -USR1 %d makes that one print a report, with verdicts, and continue; or "
			     "wait, or end it with "
			     "Ctrl-C or SIGTERM",
			     (int)t->tracer_parent);
		else
			hint(out, "wait until that one has finished, or end it with Ctrl-C or SIGTERM");
		return;
	}
	say(out, CANNOT "it is traced already, by process %d (%s)", WHO(t), (int)t->tracer_pid,
	    *t->tracer_comm ? t->tracer_comm : "not visible from here");
	hint(out, "a process has one tracer at a time: that one must detach first");
	out->other_tracer = true;
}

static bool is_ourselves(const struct target_info *t, const struct diagnose_self *self)
{
	return t->pid == self->pid || (self->keeper && t->pid == self->keeper);
}

bool diagnose_before(const struct target_info *t, const struct diagnose_self *self, struct diagnosis *out)
{
	if (is_ourselves(t, self)) {
		say(out, CANNOT "that is mmattach itself", WHO(t));
	} else if (t->kernel_thread) {
		say(out, CANNOT "it is a kernel thread", WHO(t));
		hint(out, "kernel threads have no memory of their own; only programs can be watched");
	} else if (t->state == 'Z' || t->state == 'X') {
		say(out, CANNOT "it has ended (a zombie)", WHO(t));
		hint(out, "it is listed only until its parent has read its exit status");
	} else if (t->tracer_pid) {
		blame_tracer(t, out);
	} else if (is_keeper(t)) {
		say(out, CANNOT "it is the keeper of another mmattach", WHO(t));
		hint(out, "a stopped keeper would stop its target");
	} else if (t->bits == 32) {
		say(out, CANNOT "it is a 32-bit program", WHO(t));
		hint(out, "only 64-bit x86 programs can be watched");
	} else {
		return false;
	}
	return true;
}

bool diagnose_sigtrap(const struct target_info *t, bool probes, struct diagnosis *out)
{
	if (t->sigtrap_ignored)
		say(out,
		    CANNOT "it ignores SIGTRAP; at the first trap the kernel would reset that to the "
			   "default, for good",
		    WHO(t));
	else if (t->sigtrap_caught)
		say(out,
		    CANNOT "it handles SIGTRAP; the kernel would remove the handler when a thread that "
			   "blocks the "
			   "signal, or is in the handler, runs into a trap",
		    WHO(t));
	else
		return false;
	hint(out, "%sif it does not need that for its work, --lose-sigtrap: a SIGTRAP of its own would then end it",
	     probes ? "--engine uprobe watches it without SIGTRAP; or, " : "");
	out->harm = t->sigtrap_ignored ? "could end that it ignores SIGTRAP" : "could remove its handler of SIGTRAP";
	return true;
}

static void name_user(uid_t uid, char *buf, size_t n)
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(buf, n, "%s", pw->pw_name);
	else
		snprintf(buf, n, "%u", (unsigned)uid);
}

static void blame_user(const struct target_info *t, struct diagnosis *out)
{
	char user[64];

	name_user(t->uid, user, sizeof(user));
	say(out, CANNOT "not permitted: it belongs to user %s", WHO(t), user);
	hint(out, "run mmattach as root, or as that user");
}

/* The right to trace it is there, but /proc/PID/mem can be opened by the process's user only. */
static void blame_memory(const struct target_info *t, struct diagnosis *out)
{
	char user[64];

	name_user(t->euid, user, sizeof(user));
	say(out, CANNOT "not permitted: its /proc/%d/mem is only for user %s", WHO(t), (int)t->pid, user);
	hint(out, "besides CAP_SYS_PTRACE it needs that user, or CAP_DAC_OVERRIDE");
}

static void blame_yama(const struct target_info *t, int scope, struct diagnosis *out)
{
	say(out, CANNOT "not permitted: kernel.yama.ptrace_scope is %d", WHO(t), scope);
	if (scope >= 3)
		hint(out, "no process may attach to another until the next boot: set "
			  "kernel.yama.ptrace_scope to 1 in "
			  "/etc/sysctl.d and reboot");
	else if (scope == 2)
		hint(out, "run mmattach as root, or allow it: sysctl -w kernel.yama.ptrace_scope=0");
	else
		hint(out,
		     "run mmattach as root, or allow attaching to processes of the same user: sysctl -w "
		     "kernel.yama.ptrace_scope=0, or start the program with: mmattach -- PROGRAM ARG...");
}

static const char *forbidden_by(const struct diagnose_self *self)
{
	if (self->euid == 0 && !self->cap_sys_ptrace)
		return "mmattach runs as root, but without CAP_SYS_PTRACE";
	if (self->seccomp)
		return "a seccomp filter or a security module (SELinux, AppArmor) forbids ptrace";
	return "a security module (SELinux, AppArmor) forbids it";
}

static void blame_container(const struct target_info *t, const struct diagnose_self *self,
			    struct diagnosis *out)
{
	say(out, CANNOT "not permitted: %s", WHO(t), forbidden_by(self));
	if ((self->euid == 0 && !self->cap_sys_ptrace) || self->seccomp || self->container)
		hint(out, "in a container: docker run --cap-add SYS_PTRACE (before Docker 19.03 also "
			  "--security-opt "
			  "seccomp=unconfined), or run mmattach on the host");
	else
		hint(out, "the audit log may have the reason: ausearch -m avc, or dmesg");
}

static void blame_privileges(const struct target_info *t, struct diagnosis *out)
{
	say(out,
	    CANNOT "not permitted: it has more privileges than mmattach (setuid, file capabilities, or not "
		   "dumpable)",
	    WHO(t));
	hint(out, "run mmattach as root");
}

static void blame_user_ns(const struct target_info *t, struct diagnosis *out)
{
	say(out, CANNOT "not permitted: it is in another user namespace", WHO(t));
	hint(out, "run mmattach as root on the host, or inside that namespace: nsenter -t %d -U -p -m",
	     (int)t->pid);
}

static void diagnose_permission(const struct target_info *t, const struct diagnose_self *self,
				struct diagnosis *out)
{
	if (self->yama_scope >= 3) {
		blame_yama(t, self->yama_scope, out);
	} else if (self->cap_sys_ptrace) {
		if (self->seccomp)
			blame_container(t, self, out);
		else if (t->euid != self->euid && !self->cap_dac_override)
			blame_memory(t, out);
		else if (t->other_user_ns)
			blame_user_ns(t, out);
		else
			blame_container(t, self, out);
	} else if (self->euid == 0) {
		blame_container(t, self, out);
	} else if (t->uid != self->euid || t->euid != self->euid) {
		/* A setuid program was started by its real user: running as that user would not help. */
		if (t->uid == self->euid)
			blame_privileges(t, out);
		else
			blame_user(t, out);
	} else if (t->other_user_ns) {
		blame_user_ns(t, out);
	} else if (t->not_dumpable || t->cap_prm) {
		blame_privileges(t, out);
	} else if (self->yama_scope > 0) {
		blame_yama(t, self->yama_scope, out);
	} else {
		blame_container(t, self, out);
	}
}

void diagnose_attach(const struct target_info *t, const struct diagnose_self *self, int err,
		     struct diagnosis *out)
{
	if (err < 0)
		err = -err;
	if (diagnose_before(t, self, out))
		return;
	if (err == EPERM || err == EACCES) {
		diagnose_permission(t, self, out);
	} else if (err == ESRCH) {
		diagnose_vanished(t, true, out);
	} else if (err == ENOSYS) {
		say(out, CANNOT "this system has no ptrace", WHO(t));
		hint(out, "some sandboxes, as gVisor, have none: run mmattach on the host");
	} else {
		say(out, CANNOT "%s", WHO(t), strerror(err));
	}
}

void diagnose_no_allocator(const struct target_info *t, bool is_static, struct diagnosis *out)
{
	say(out, "no allocator found in %d (%s)%s", WHO(t),
	    is_static ? ": a static program without symbols" : ": no malloc in any of its modules");
	hint(out, "name its functions: --probe 'alloc NAME size=arg1' --probe 'free NAME'%s",
	     is_static ? ", or 0xADDRESS or MODULE+0xOFFSET instead of NAME" :
			 ", or 0xADDRESS or MODULE+0xOFFSET instead of NAME");
}

void diagnose_vanished(const struct target_info *t, bool there, struct diagnosis *out)
{
	if (!there) {
		say(out, CANNOT "it ended while mmattach was attaching", WHO(t));
		return;
	}
	say(out, CANNOT "it began to run another program while mmattach was attaching", WHO(t));
	hint(out, "try again, to attach to that one");
}

void diagnose_add_hint(struct diagnosis *d, const char *what)
{
	const size_t n = strlen(d->hint);

	snprintf(d->hint + n, sizeof(d->hint) - n, "%s%s", n ? "; or " : "", what);
}

void diagnose_log(const struct diagnosis *d)
{
	const char *line = d->listing ? d->listing : "";

	log_error("%s", d->text);
	if (*d->hint)
		log_hint("%s", d->hint);
	for (size_t n; *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		log_error("%.*s", (int)n, line);
	}
}
