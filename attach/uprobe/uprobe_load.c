/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

extern const unsigned char uprobe_object[];	/* the compiled uprobe.bpf.c */
extern const uint64_t uprobe_object_size;

/*
 * The table of open calls is allocated when it is made, 0.3 ms for a thousand. The kernel hands its entries to the
 * processors by 128, and takes the oldest ones when there is none left.
 */
#define CALLS_LEAST 8192u
#define CALLS_PER_THREAD 8u
#define CALLS_PER_PROCESSOR 512u

/* --- what the loader and the verifier say --- */

#define LOG_BEGIN "-- BEGIN PROG LOAD LOG --\n"
#define LOG_END "-- END PROG LOAD LOG --"
#define LAST_LINES 12			/* of thousands */

/* Where the refusal goes that is reported while this thread loads: the loader's callback has no argument of ours. */
static _Thread_local struct {
	char *to;
	size_t n;
} refusal;

/* The beginning of the line before the one that begins at @line; @begin, if there is none. */
static const char *line_before(const char *begin, const char *line)
{
	if (line > begin)
		line--;
	while (line > begin && line[-1] != '\n')
		line--;
	return line;
}

/* "prog 'NAME': ..." */
static void name_of(const char *text, char *out, size_t n)
{
	const char *from = strchr(text, '\''), *to = from ? strchr(from + 1, '\'') : NULL;

	snprintf(out, n, "%.*s", to ? (int)(to - from - 1) : 0, to ? from + 1 : "");
}

bool uprobe_load_refusal(const char *text, char *out, size_t n)
{
	const char *begin = strstr(text, LOG_BEGIN), *end = begin ? strstr(begin, LOG_END) : NULL, *line;
	char program[64];

	if (!end)
		return false;
	begin += strlen(LOG_BEGIN);
	line = line_before(begin, end);
	/* the last line has figures */
	if (!strncmp(line, "processed ", strlen("processed ")))
		line = line_before(begin, line);
	name_of(text, program, sizeof(program));
	snprintf(out, n, "%s: %.*s", program, (int)strcspn(line, "\n"), line);
	return true;
}

/* The last lines of @text. */
static void log_last_lines(const char *text)
{
	const char *line = text + strlen(text);

	for (int i = 0; i <= LAST_LINES && line > text; i++)
		line = line_before(text, line);
	for (; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (*line != '\n')
			log_debug(TRAP, "%.*s", (int)strcspn(line, "\n"), line);
}

static int hear(enum libbpf_print_level level, const char *format, va_list ap)
{
	cleanup_free char *text = NULL;

	if (level == LIBBPF_DEBUG || vasprintf(&text, format, ap) < 0)
		return 0;
	if (refusal.to && !*refusal.to)
		(void)!uprobe_load_refusal(text, refusal.to, refusal.n);
	if (log_debug_on(LOG_TRAP))
		log_last_lines(text);
	return 0;
}

/* --- loading --- */

int uprobe_load_program(const struct bpf_object *o, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(o, name));
}

int uprobe_load_map(const struct bpf_object *o, const char *name)
{
	return bpf_map__fd(bpf_object__find_map_by_name(o, name));
}

/* The program @name takes part, or is left out. */
static void choose(struct bpf_object *o, const char *name, bool load, int attach_type)
{
	struct bpf_program *p = bpf_object__find_program_by_name(o, name);

	bpf_program__set_autoload(p, load);
	bpf_program__set_expected_attach_type(p, (enum bpf_attach_type)attach_type);
}

static void size_map(struct bpf_object *o, const char *name, uint32_t n)
{
	(void)!bpf_map__set_max_entries(bpf_object__find_map_by_name(o, name), n);
}

/* At most as many as the program says. */
static void size_calls(struct bpf_object *o, uint32_t threads)
{
	const struct bpf_map *calls = bpf_object__find_map_by_name(o, "calls");
	const uint64_t wanted = CALLS_LEAST + (uint64_t)threads * CALLS_PER_THREAD +
				(uint64_t)libbpf_num_possible_cpus() * CALLS_PER_PROCESSOR;

	if (wanted < bpf_map__max_entries(calls))
		size_map(o, "calls", (uint32_t)wanted);
}

/* What the loader reports then is the log of a program that the verifier has taken. */
static bool is_shortage(int r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EAGAIN;
}

static void explain(int r, const char *refused, char *why, size_t n)
{
	char release[80];

	uprobe_linux_release(release, sizeof(release));
	if (*refused && !is_shortage(r))
		snprintf(why, n, "this kernel (%s) refuses the program %s", release, refused);
	else if (r == -EPERM || r == -EACCES)
		snprintf(why, n, "BPF programs may not be loaded: that needs root, or CAP_BPF and CAP_PERFMON, a kernel "
				 "that is not locked down, and no seccomp filter that forbids it");
	else
		snprintf(why, n, "this kernel (%s) does not take the BPF programs: %s", release, strerror(-r));
}

int uprobe_load(const struct uprobe_settings *set, enum uprobe_way way, struct bpf_object **out, char *why, size_t n)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "mmattach");
	const bool session = way == UPROBE_WAY_SESSION;
	struct bpf_object *o;
	char refused[160] = "";
	int r;

	libbpf_set_print(hear);
	o = bpf_object__open_mem(uprobe_object, uprobe_object_size, &opts);
	if (!o)
		return -errno;
	choose(o, "at_site", !session, way == UPROBE_WAY_PERF ? 0 : UPROBE_ATTACH_MULTI);
	choose(o, "at_session", session, UPROBE_ATTACH_SESSION);
	bpf_program__set_autoload(bpf_object__find_program_by_name(o, "find_stacks"), session);
	size_calls(o, set->threads);
	size_map(o, "ring", set->ring_bytes);
	if (!set->sampled)
		size_map(o, "sampled", 1);	/* 16 MB otherwise */
	refusal.to = refused;
	refusal.n = sizeof(refused);
	r = bpf_object__load(o);
	refusal.to = NULL;
	if (r < 0) {
		explain(r, refused, why, n);
		bpf_object__close(o);
		return r;
	}
	*out = o;
	return 0;
}
