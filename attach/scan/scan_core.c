/* SPDX-License-Identifier: MIT */
#include "attach/scan/scan_core.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "attach/scan/scan_allocator.h"
#include "base/log.h"
#include "heap/census_take.h"
#include "heap/reach/loaderblocks.h"

static int open_core(struct scan *sc)
{
	const char *path = sc->opt->core;
	int r = core_open(path, &sc->snapshot, &sc->core);

	if (r == 0)
		return 0;
	if (*sc->core.why)
		log_error("cannot scan %s: %s", path, sc->core.why);
	else
		log_error_errno(r, "cannot scan %s", path);
	if (*sc->core.what_to_do)
		log_hint("%s", sc->core.what_to_do);
	return r;
}

/* The time of the core: that of its file, since there is none in it. */
static int64_t written_ns(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	return st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
}

static void find_allocator(struct scan *sc)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;

	if (scan_allocator_of_core(&sc->snapshot, &sc->census, &name))
		sc->report.heap.other = summary_string(&sc->report.summary, strbuf_str(&name));
}

static void describe(struct scan *sc)
{
	struct scan_report *r = &sc->report;
	struct summary *s = &r->summary;
	char comm[sizeof(sc->snapshot.comm) + 1] = "";

	memcpy(comm, sc->snapshot.comm, sizeof(sc->snapshot.comm));
	summary_set_target(s, sc->snapshot.pid, *comm ? comm : NULL,
			   sc->opt->exe ? sc->opt->exe : sc->core.exe);
	if (*sc->core.args)
		summary_add_arg(s, sc->core.args);
	s->run.frontend = "core";
	s->run.start_ns = written_ns(sc->opt->core);
	r->core = sc->opt->core;
	s->run.verdicts.threads = (uint32_t)sc->snapshot.nthreads;
}

/* In a core that gcore wrote, the signal is only the one that stopped the process. */
static bool killed_it(int signal)
{
	return signal && signal != SIGSTOP && signal != SIGTRAP;
}

/* Memory that was cut off, or was never in the core, makes verdicts less certain. */
static void add_doubts(struct scan *sc)
{
	cleanup_strbuf struct strbuf doubts = STRBUF_INIT;
	size_t n = core_doubts(&sc->core, &doubts);
	const char *at = strbuf_str(&doubts);

	if (strbuf_error(&doubts) && !sc->report.summary.err)
		sc->report.summary.err = strbuf_error(&doubts);
	for (; n && !strbuf_error(&doubts); n--, at += strlen(at) + 1)
		summary_add_doubt(&sc->report.summary, at);
	if (killed_it(sc->core.signal))
		summary_note(&sc->report.summary, "it died of signal %d (%s)", sc->core.signal,
			     strsignal(sc->core.signal));
}

/* Open the mapped files that are here. A wrong one is an error if the user named it; else it is logged. */
static int open_files(struct scan *sc)
{
	struct backing_names names = { .exe_path = sc->core.exe, .exe = sc->opt->exe };
	int r = backing_add(&sc->snapshot, backing_open_name, &names, &sc->backing);

	if (r < 0)
		log_error_errno(r, "cannot scan %s", sc->opt->core);
	for (size_t i = 0; r == 0 && i < sc->backing.n; i++) {
		const struct backing_file *f = &sc->backing.files[i];

		if (!*f->why)
			continue;
		if (sc->opt->exe && sc->core.exe && !strcmp(f->path, sc->core.exe)) {
			log_error("--exe %s: it %s", sc->opt->exe, f->why);
			return -EINVAL;
		}
		log_verbose("%s: %s", f->path, f->why);
	}
	return r;
}

int scan_core(struct scan *sc)
{
	int r = open_core(sc);

	if (r == 0)
		r = open_files(sc);
	if (r < 0)
		return r;
	r = census_take(&sc->snapshot, &sc->census);
	if (r == 0)
		r = loaderblocks_set_apart(&sc->snapshot, &sc->census);
	if (r < 0) {
		log_error_errno(r, "cannot list the blocks of %s", sc->opt->core);
		return r;
	}
	describe(sc);
	find_allocator(sc);
	add_doubts(sc);
	return 0;
}
