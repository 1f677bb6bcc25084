/* SPDX-License-Identifier: MIT */
/* target: see target.h. One small function per file of /proc/PID. */
#include "attach/target/target.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "attach/target/procstat.h"
#include "base/fdio.h"
#include "base/log.h"

#define STATUS_LIMIT (1u << 20)
#define CMDLINE_LIMIT (8u << 20)

static int read_proc(pid_t pid, const char *name, size_t limit, char **text, size_t *n)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	err = read_whole_file(path, limit, text, n);
	return err == -ENOENT ? -ESRCH : err;
}

/* What follows "KEY:" and blanks at the beginning of a line of @status, or "". */
static const char *field(const char *status, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = status; *line; ) {
		if (!strncmp(line, key, n) && line[n] == ':')
			return line + n + 1 + strspn(line + n + 1, " \t");
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return "";
}

/* Is @word in the line of that field? */
static bool field_has(const char *status, const char *key, const char *word)
{
	const char *s = field(status, key);
	const char *end = s + strcspn(s, "\n");
	const char *at = strstr(s, word);

	return at && at < end;
}

/* Up to the end of the line. A process named "x\nUid:" cannot add a line: the kernel escapes that newline. */
static void copy_line(const char *s, char *buf, size_t n)
{
	size_t len = strcspn(s, "\n");

	if (len > n - 1)
		len = n - 1;
	memcpy(buf, s, len);
	buf[len] = '\0';
}

static void read_comm(pid_t pid, char *buf, size_t n)
{
	char *text;
	size_t len;

	buf[0] = '\0';
	if (read_proc(pid, "comm", 4096, &text, &len))
		return;
	/* comm may have newlines of its own; the last one is the kernel's */
	if (len && text[len - 1] == '\n')
		text[len - 1] = '\0';
	snprintf(buf, n, "%s", text);
	free(text);
}

static bool has_signal(const char *status, const char *key, int sig)
{
	return strtoull(field(status, key), NULL, 16) >> (sig - 1) & 1;
}

/* NSpid: its pid in our namespace, then one for each namespace further in. */
static bool in_inner_pid_ns(const char *status)
{
	char line[256];

	copy_line(field(status, "NSpid"), line, sizeof(line));
	return strchr(line, '\t');
}

static void read_status(const char *status, struct target_info *t)
{
	unsigned uid = 0, euid = 0;

	if (sscanf(field(status, "Uid"), "%u %u", &uid, &euid) < 2)
		euid = uid;
	t->uid = uid;
	t->euid = euid;
	t->state = *field(status, "State");
	t->parent = (pid_t)strtol(field(status, "PPid"), NULL, 10);
	t->rss_bytes = strtoull(field(status, "VmRSS"), NULL, 10) * 1024;
	t->threads = (unsigned)strtoul(field(status, "Threads"), NULL, 10);
	t->cap_prm = strtoull(field(status, "CapPrm"), NULL, 16);
	t->sigtrap_ignored = has_signal(status, "SigIgn", SIGTRAP);
	t->sigtrap_caught = has_signal(status, "SigCgt", SIGTRAP);
	t->shadow_stack = field_has(status, "x86_Thread_features", "shstk");
	t->other_pid_ns = in_inner_pid_ns(status);
}

static void read_stat(struct target_info *t)
{
	cleanup_close int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct procstat st;

	if (procstat_read(proc, t->pid, &st) < 0)
		return;
	t->kernel_thread = st.kernel_thread;
	t->start_ns = st.start_ns;
}

static char *read_thread_status(pid_t pid, pid_t tid)
{
	char name[32];
	char *status;
	size_t n;

	snprintf(name, sizeof(name), "task/%d/status", (int)tid);
	return read_proc(pid, name, STATUS_LIMIT, &status, &n) ? NULL : status;
}

static pid_t parent_of(pid_t pid)
{
	char *status = read_thread_status(pid, pid);
	pid_t parent = status ? (pid_t)strtol(field(status, "PPid"), NULL, 10) : 0;

	free(status);
	return parent;
}

/* Threads are traced one by one, so all of them are read. */
static void read_thread(struct target_info *t, pid_t tid)
{
	char *status = read_thread_status(t->pid, tid);

	/* if the first thread of a process has ended, its state is that of another thread */
	if (status && t->state == 'Z')
		t->state = *field(status, "State");
	if (status && !t->tracer_pid)
		t->tracer_pid = (pid_t)strtol(field(status, "TracerPid"), NULL, 10);
	free(status);
}

void target_read_threads(struct target_info *t)
{
	struct dirent *d;
	char path[32];
	cleanup_closedir DIR *dir = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] != '.')
			read_thread(t, (pid_t)strtol(d->d_name, NULL, 10));
	}
	if (t->tracer_pid) {
		read_comm(t->tracer_pid, t->tracer_comm, sizeof(t->tracer_comm));
		t->tracer_parent = parent_of(t->tracer_pid);
	}
}

static int read_exe_name(struct target_info *t)
{
	static const char suffix[] = " (deleted)";
	char path[32], name[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)t->pid);
	n = readlink(path, name, sizeof(name) - 1);
	name[n < 0 ? 0 : n] = '\0';
	n = (ssize_t)strlen(name) - (ssize_t)strlen(suffix);
	if (n > 0 && !strcmp(name + n, suffix))
		name[n] = '\0';
	t->exe = strdup(name);
	return t->exe ? 0 : -ENOMEM;
}

/* The link leads to the file that the kernel loaded, so it is a regular file, whatever its name is now. */
static int read_bits(pid_t pid)
{
	Elf64_Ehdr eh;
	char path[32];
	cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || pread_full(fd, &eh, sizeof(eh), 0) < (ssize_t)sizeof(Elf32_Ehdr) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return 0;
	return eh.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
}

/*
 * A process that writes a title over its arguments (nginx, PostgreSQL) fills the rest of their space with
 * zeros or blanks: these are cut off, and the rest ends with a zero. Two zeros at the end can be an empty
 * argument.
 */
static size_t cut_padding(char *text, size_t n)
{
	size_t end = n;

	while (end && (!text[end - 1] || text[end - 1] == ' '))
		end--;
	if (n - end <= 2)
		return n;
	text[end] = '\0';
	return end + 1;
}

static size_t count_args(const char *text, size_t n)
{
	size_t args = n && text[n - 1];

	for (size_t i = 0; i < n; i++)
		args += !text[i];
	return args;
}

static int read_argv(struct target_info *t)
{
	char *text = NULL;
	size_t n = 0, i = 0;

	/* gone, not readable for us, or unreasonably long: continue without arguments */
	if (read_proc(t->pid, "cmdline", CMDLINE_LIMIT, &text, &n))
		n = 0;
	n = text ? cut_padding(text, n) : 0;
	t->argc = count_args(text, n);
	t->argv = calloc(t->argc + 1, sizeof(*t->argv));
	for (size_t at = 0; t->argv && i < t->argc; at += strlen(t->argv[i++]) + 1) {
		t->argv[i] = strdup(text + at);
		if (!t->argv[i])
			break;
	}
	free(text);
	return t->argv && i == t->argc ? 0 : -ENOMEM;
}

/* Only a process that may trace it can read the links in /proc/PID/ns; every process can read its uid_map. */
static bool in_other_user_ns(pid_t pid)
{
	char *theirs, *ours;
	size_t n, m;
	bool other;

	if (read_proc(pid, "uid_map", 65536, &theirs, &n))
		return false;
	if (read_proc(getpid(), "uid_map", 65536, &ours, &m)) {
		free(theirs);
		return false;
	}
	other = n != m || memcmp(theirs, ours, n);
	free(theirs);
	free(ours);
	return other;
}

/* The /proc files of a process that is not dumpable belong to root, whatever user it runs as. */
static bool is_not_dumpable(const struct target_info *t)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)t->pid);
	return t->euid != 0 && !stat(path, &st) && st.st_uid != t->euid;
}

/* /proc has no @id: there is no such process, or hidepid hides it from us. */
static int why_unseen(pid_t id)
{
	return kill(id, 0) && errno == EPERM ? -EACCES : -ESRCH;
}

static int read_process(struct target_info *t)
{
	char *status;
	size_t n;
	int err = read_proc(t->pid, "status", STATUS_LIMIT, &status, &n);

	if (err)
		return err;
	read_status(status, t);
	free(status);
	read_comm(t->pid, t->comm, sizeof(t->comm));
	read_stat(t);
	t->not_dumpable = is_not_dumpable(t);
	t->other_user_ns = in_other_user_ns(t->pid);
	t->bits = read_bits(t->pid);
	err = read_exe_name(t);
	return err ? err : read_argv(t);
}

static int find_process_of(pid_t id, pid_t *pid)
{
	char *status;
	size_t n;
	int err = read_proc(id, "status", STATUS_LIMIT, &status, &n);

	if (err)
		return err == -ESRCH ? why_unseen(id) : err;
	*pid = (pid_t)strtol(field(status, "Tgid"), NULL, 10);
	free(status);
	return *pid > 0 ? 0 : -ESRCH;
}

int target_read_process(pid_t id, struct target_info *out)
{
	int err;

	*out = (struct target_info){ .asked = id };
	err = find_process_of(id, &out->pid);
	if (!err)
		err = read_process(out);
	if (err) {
		target_fini(out);
		return err;
	}
	if (out->pid != id)
		log_info("%d is a thread of process %d (%s): that process is meant", (int)id, (int)out->pid,
			 out->comm);
	return 0;
}

int target_read(pid_t id, struct target_info *out)
{
	int err = target_read_process(id, out);

	if (!err)
		target_read_threads(out);
	return err;
}

uint32_t target_status_number(pid_t pid, const char *field)
{
	char path[64], line[256];
	const size_t length = strlen(field);
	cleanup_fclose FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, length) && line[length] == ':')
			return (uint32_t)strtoul(line + length + 1, NULL, 10);
	return 0;
}

void target_fini(struct target_info *t)
{
	for (size_t i = 0; t->argv && i < t->argc; i++)
		free(t->argv[i]);
	free(t->argv);
	free(t->exe);
	*t = (struct target_info){ 0 };
}

void target_format_cmdline(const struct target_info *t, struct strbuf *sb)
{
	if (!t->argc) {
		strbuf_putc(sb, '[');
		strbuf_text(sb, t->comm);
		strbuf_putc(sb, ']');
	}
	for (size_t i = 0; i < t->argc; i++) {
		if (i)
			strbuf_putc(sb, ' ');
		strbuf_text(sb, t->argv[i]);
	}
}

int target_read_names(pid_t pid, struct target_info *t)
{
	char *status;
	size_t n;
	int err;

	*t = (struct target_info){ .pid = pid, .asked = pid };
	err = read_proc(pid, "status", STATUS_LIMIT, &status, &n);
	if (err)
		return err;
	read_status(status, t);
	free(status);
	read_comm(pid, t->comm, sizeof(t->comm));
	err = read_exe_name(t);
	return err ? err : read_argv(t);
}
