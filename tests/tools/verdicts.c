/* SPDX-License-Identifier: MIT */
/*
 * verdicts [-q] PID | [-q] -c CORE: every block of a process's heap, with its verdict, as a line of JSON. The
 * process is paused once, by the keeper, and released again. -q: without the blocks.
 *
 *	{"blocks": [[ADDR, SIZE, "VERDICT", LEADER'S ADDR], ...], "doubts": ["..."], "seconds": 0.1, "census":
 *	0.1, "pause_ns": 1, "bytes": 1}
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/control/link.h"
#include "attach/snapshot/pause.h"
#include "heap/census_take.h"
#include "heap/reach/reach.h"
#include "heap/snapshot/backing.h"
#include "heap/snapshot/core.h"

#define CALL_NS 20000000000ull

static bool quiet;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what, int err)
{
	fprintf(stderr, "verdicts: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void from_process(pid_t pid, int argc, char **argv, struct snapshot *s, struct pause_had *had)
{
	const struct link_settings set = { .slice_bytes = 4096, .max_stall_ns = 100000000, .gdb = -1, .gdb_mem = -1 };
	const struct pause_wish wish = { 0 };
	struct link link;
	int r = link_open(&link, &set, argc, argv), left;

	if (r == 0)
		r = link_call(&link, COMMAND_SEIZE, pid, 0, CALL_NS);
	if (r == 0)
		r = pause_and_copy(&link, pid, &wish, s, had);
	left = link_leave(&link, CALL_NS);
	if (r < 0 || left < 0)
		die("pause", r < 0 ? r : left);
}

static void say(const struct reach_input *in, const struct reach *r, double census, const struct pause_had *had)
{
	struct strbuf doubts = STRBUF_INIT;
	const size_t n = reach_doubts(in, r, &doubts);
	const char *doubt = strbuf_str(&doubts);

	printf("{\"blocks\": [");
	for (size_t i = 0; i < r->nblocks && !quiet; i++)
		printf("%s[%" PRIu64 ", %" PRIu64 ", \"%s\", %" PRIu64 "]", i ? ", " : "", in->blocks[i].addr,
		       in->blocks[i].size, verdict_name(r->verdict[i]), in->blocks[r->leader[i]].addr);
	printf("], \"doubts\": [");
	for (size_t i = 0; i < n; i++, doubt += strlen(doubt) + 1)
		printf("%s\"%s\"", i ? ", " : "", doubt);
	printf("], \"seconds\": %.6f, \"census\": %.6f, \"pause_ns\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n",
	       r->seconds, census, had->had_ns, in->snapshot->bytes);
	strbuf_fini(&doubts);
}

static void judge(struct snapshot *s, const struct pause_had *had)
{
	const double begin = now();
	struct census census;
	struct reach_input in = { .snapshot = s, .census = &census, .heuristics = REACH_ALL };
	struct reach r;
	double census_s;
	int err = census_take(s, &census);

	if (err < 0)
		die("census", err);
	if (!census.known || census.problem.at) {
		fprintf(stderr, "verdicts: census: at %#" PRIx64 ": %s\n", census.problem.at,
			census.problem.what);
		exit(1);
	}
	census_s = now() - begin;
	in.blocks = census.blocks;
	in.nblocks = census.nblocks;
	err = reach_run(&in, &r);
	if (err < 0)
		die("reach", err);
	say(&in, &r, census_s, had);
	reach_fini(&r);
	census_fini(&census);
}

int main(int argc, char **argv)
{
	struct backing_names names = { NULL, NULL };
	struct pause_had had = { 0 };
	struct core_info info;
	struct backing backing;
	struct snapshot s;
	const char *core = NULL;
	int err = 0, option;

	while ((option = getopt(argc, argv, "qc:")) != -1) {
		if (option == '?')
			return 2;
		quiet |= option == 'q';
		if (option == 'c')
			core = optarg;
	}
	if (!core && optind == argc)
		return 2;
	snapshot_init(&s);
	if (core)
		err = core_open(core, &s, &info);
	else
		from_process(atoi(argv[optind]), argc, argv, &s, &had);
	if (err < 0)
		die(info.why, err);
	names.exe_path = core ? info.exe : NULL;
	err = backing_add(&s, backing_open_name, &names, &backing);
	if (err < 0)
		die("backing", err);
	judge(&s, &had);
	backing_fini(&backing);
	snapshot_fini(&s);
	return 0;
}
