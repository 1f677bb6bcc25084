/* SPDX-License-Identifier: MIT */
#include "attach/options/help_topics.h"

#include <string.h>

#define BIT(subject) (1u << (subject))

const struct help_topic help_topics[] = {
	{ .name = "watch", .what = "watch a process, and report what it allocated and did not free",
	  .command = COMMAND_WATCH,
	  .usage = "mmattach [watch] [options] (-p PID,... | -n NAME | -- PROGRAM ARG...)",
	  .elsewhere = BIT(ABOUT_MANY) | BIT(ABOUT_RULES) | BIT(ABOUT_REFERENCES) | BIT(ABOUT_SCOPE) |
		       BIT(ABOUT_STACKS) | BIT(ABOUT_FILTERS) | BIT(ABOUT_BLOCKS) | BIT(ABOUT_GENERAL),
	  .examples = {
		  { "mmattach -p 1234 -d 10m", "for ten minutes" },
		  { "mmattach -n my_service -d 8h --budget 1%", "a service in production" },
	  },
	  .text = "Ctrl-C, SIGTERM, -d or the target's end ends it. SIGUSR1: an interim report.\n" },
	{ .name = "top", .what = "show a watch in the terminal while it goes on",
	  .command = COMMAND_TOP, .usage = "mmattach top [options] (TRACE | -p PID | -n NAME)",
	  .elsewhere = BIT(ABOUT_RULES) | BIT(ABOUT_REFERENCES) | BIT(ABOUT_SCOPE) | BIT(ABOUT_STACKS) |
		       BIT(ABOUT_VERDICTS) | BIT(ABOUT_GENERAL),
	  .examples = {
		  { "mmattach top -p 1234", "watch it, and look" },
		  { "mmattach top -n my_service --budget 1% -o a.mmt", "and keep the trace" },
		  { "mmattach top a.mmt", "a trace being written" },
		  { "mmattach top -p 1234 --interval 1m", "without a terminal: reports" },
	  },
	  .text = "Keys: b g r c sort by live bytes, growth, calls a second, calls; arrows or j k\n"
		  "choose a row, Enter opens its stack; / filters, as --focus; m: since now;\n"
		  "s saves the trace; p pauses the view; h helps; q ends. If the view ends, in\n"
		  "whatever way, the watch ends as on SIGTERM.\n" },
	{ .name = "report", .what = "print the report of a saved watch",
	  .command = COMMAND_REPORT, .usage = "mmattach report [options] TRACE...",
	  .examples = {
		  { "mmattach report a.mmt", "as the watch itself printed it" },
		  { "mmattach report --focus my_lib --top 5 a.mmt", "only stacks with my_lib" },
		  { "mmattach report --block-list 3 a.mmt", "each block of group [3]" },
		  { "mmattach report --follow a.mmt", "while it is being written" },
		  { "mmattach report --format json -o a.json a.mmt", "for a program" },
	  },
	  .text = "On any machine. Several pieces of one watch are one watch.\n" },
	{ .name = "diff", .what = "compare two traces: what grew, what appeared, what went",
	  .command = COMMAND_DIFF, .usage = "mmattach diff [options] OLD NEW",
	  .examples = {
		  { "mmattach diff before.mmt after.mmt", "" },
		  { "mmattach diff --focus my_lib before.mmt after.mmt", "only stacks with my_lib" },
	  },
	  .text = "Stacks are the same if their functions are. Watches of different length are\n"
		  "compared in bytes a minute. A sampled watch (--budget) cannot be compared.\n" },
	{ .name = "shrink", .what = "make a trace smaller: live blocks, and totals",
	  .command = COMMAND_SHRINK, .usage = "mmattach shrink TRACE... -o OUT",
	  .examples = {
		  { "mmattach shrink a.mmt -o small.mmt", "" },
		  { "mmattach shrink a.0001.mmt a.0002.mmt -o a.mmt", "one trace of two pieces" },
	  },
	  .text = "The report stays the same.\n" },
	{ .name = "merge", .what = "make one trace of those of many processes",
	  .command = COMMAND_MERGE, .usage = "mmattach merge [options] (TRACE | FOLDER)... -o OUT",
	  .examples = {
		  { "mmattach merge host1.mmt host2.mmt -o fleet.mmt", "" },
		  { "mmattach merge --label host=a1 a1.mmt -o a1l.mmt", "labels; merge these then" },
		  { "mmattach merge /var/lib/mmattach -o fleet.mmt", "all *.mmt of a folder" },
	  },
	  .text = "The same code of all processes is summed: same build id and offset. A merged\n"
		  "trace can be merged again, in any order; runs with a budget with each other.\n" },
	{ .name = "import", .what = "make a trace from what mmleak or mtrace(3) wrote",
	  .command = COMMAND_IMPORT, .usage = "mmattach import mmleak|mtrace FILE... [--maps FILE] -o OUT",
	  .examples = {
		  { "mmattach import mmleak dump.log --maps maps -o a.mmt", "" },
		  { "mmattach import mtrace mtrace.log -o a.mmt", "" },
	  },
	  .text = "Several dumps of one process are given in their order.\n" },
	{ .name = "scan", .what = "without a watch: the blocks of a process, and which are lost",
	  .command = COMMAND_SCAN,
	  .usage = "mmattach scan [options] (-p PID | -n NAME | --core FILE [--exe FILE])",
	  .examples = {
		  { "mmattach scan -p 1234", "" },
		  { "mmattach scan -p 1234 --show definite,indirect", "only what is lost for certain" },
		  { "mmattach scan --core core.1234", "a core file" },
		  { "mmattach scan -p 1234 --with-trace a.mmt", "with the stacks of a watch" },
		  { "mmattach scan -p 1234 --who-points-at 7f12a4003010", "" },
	  },
	  .text = "The process is stopped once, until its memory is copied.\n" },
	{ .name = "probes", .what = "list the rules, or where traps would go and what they cost",
	  .command = COMMAND_PROBES, .usage = "mmattach probes [options] [-p PID | -n NAME]",
	  .examples = {
		  { "mmattach probes", "packs, families, rules" },
		  { "mmattach probes -p 1234", "where traps would go" },
		  { "mmattach probes -p 1234 --family fd --json", "as JSON" },
	  },
	  .text = "Nothing is planted.\n" },
	{ .name = "repair", .what = "remove traps that a killed keeper left in a process",
	  .command = COMMAND_REPAIR, .usage = "mmattach repair [options] PID",
	  .examples = { { "mmattach repair 1234", "" } },
	  .text = "Every byte that is restored is listed. Never kill mm-keeper with SIGKILL: after\n"
		  "that, a thread that runs into a trap ends its process.\n" },
	{ .name = "formats", .what = "list the forms of a report, and what each is for",
	  .command = COMMAND_FORMATS, .usage = "mmattach formats [json|csv|schema]",
	  .examples = {
		  { "mmattach formats json", "what each member of JSON is" },
		  { "mmattach formats csv", "what each column is" },
		  { "mmattach formats schema", "a JSON Schema, to check reports with" },
	  },
	  .text = "A format that is not made of scans or of comparisons refuses these.\n" },
	{ .name = "gdb", .what = "a watch from inside gdb",
	  .command = COMMAND_GDB, .usage = "in gdb: source gdbscripts/mmleak.py, then mmleak start [options]",
	  .text = "The script starts `mmattach gdb --fds ... -p PID`. doc/gdb.md has more.\n" },

	{ .name = "target", .what = "which process, and how long", .subject = ABOUT_TARGET,
	  .examples = {
		  { "mmattach -p 1234 -d 10m", "" },
		  { "mmattach -n my_service -d 1h30m", "" },
		  { "mmattach scan --core core.1234 --exe ./my_service", "" },
	  },
	  .text = "-- PROGRAM ARG... starts a program, and watches it from its first instruction.\n"
		  "It needs the right to trace: root, CAP_SYS_PTRACE, or the same user where\n"
		  "kernel.yama.ptrace_scope is 0.\n" },
	{ .name = "many", .what = "several processes at once", .subject = ABOUT_MANY,
	  .examples = {
		  { "mmattach -p 12,34 -d 10m", "" },
		  { "mmattach -n nginx --all -d 10m", "all of that name" },
		  { "mmattach --unit nginx.service --follow -d 1h -o traces/", "" },
		  { "mmattach --follow -- ./run_all_my_tests", "a program and its descendants" },
	  },
	  .text = "Each process has a watch of its own; the report is one, of all. What cannot be\n"
		  "attached to is a line of it. -o FILE.mmt saves one trace, -o FOLDER/ one each\n"
		  "(PID-NAME.mmt), which `mmattach report FOLDER/` reads. --budget is for each,\n"
		  "unless --budget-of all shares it.\n" },
	{ .name = "rules", .what = "which functions are watched", .subject = ABOUT_RULES,
	  .examples = {
		  { "mmattach -p 1234 --family libc,fd", "malloc, and file descriptors" },
		  { "mmattach -p 1234 --growth -d 1h", "where memory grows" },
		  { "mmattach -p 1234 --probe 'alloc pool_get size=arg1' --probe 'free pool_put'", "" },
	  },
	  .text = "A rule is a word, a function, and what its arguments mean:\n"
		  "  alloc   my_alloc    size=arg1              a block: size=, ptr= (default ret)\n"
		  "  realloc my_realloc  old=arg1 size=arg2\n"
		  "  free    my_free     ptr=arg1\n"
		  "  alloc   libx.so+0x12a0  size=arg1          in a stripped file\n"
		  "With rules of your own, libc is watched only if --family names it. doc/rules.md\n"
		  "describes all of it.\n" },
	{ .name = "references", .what = "objects with reference counts", .subject = ABOUT_REFERENCES,
	  .examples = {
		  { "mmattach -p 1234 --ref session_get:session_put", "" },
		  { "mmattach -p 1234 --ref obj_ref:obj_unref:arg2:count=+0x50/4:birth=obj_new", "" },
		  { "mmattach -p 1234 --family inode,dict --per-object", "of GlusterFS" },
	  },
	  .text = "Reported are objects of which more references were acquired than released, with\n"
		  "the stacks that did so. doc/references.md is a guide.\n" },
	{ .name = "scope", .what = "which calls count", .subject = ABOUT_SCOPE,
	  .examples = {
		  { "mmattach -p 1234 --in handle_request", "" },
		  { "mmattach -p 1234 --from startup_done --until shutdown", "" },
		  { "mmattach -p 1234 --thread 'worker-*' --module 'libfoo.so*'", "" },
	  },
	  .text = "Calls that do not count are not recorded. What is left out of a report only:\n"
		  "mmattach help filters.\n" },
	{ .name = "budget", .what = "what a watch may cost the target", .subject = ABOUT_BUDGET,
	  .examples = {
		  { "mmattach -n my_service -d 8h --budget 1% -o a.mmt", "" },
		  { "mmattach -n my_service -d 1h --sample 512K", "as root; any allocator" },
	  },
	  .text = "With a budget not every call is seen: the leaks of each stack are estimated from\n"
		  "samples, with an interval of 95 %. For the mallocs of glibc and musl, jemalloc,\n"
		  "tcmalloc and mimalloc; not with --in, --from, --until, --thread, --module,\n"
		  "--growth, --sizes exact, --free-stacks, --verdicts yes or -- PROGRAM.\n"
		  "At the end the process is stopped for some milliseconds, if the budget leaves\n"
		  "them, to find which tracked blocks are lost (--verdicts no: it is not).\n"
		  "doc/production.md is a guide.\n" },
	{ .name = "stacks", .what = "how stacks are recorded and shown", .subject = ABOUT_STACKS,
	  .examples = {
		  { "mmattach -p 1234 --depth 30", "" },
		  { "mmattach report --wrappers show a.mmt", "" },
	  },
	  .text = "" },
	{ .name = "trace", .what = "the files a watch writes and others read", .subject = ABOUT_TRACE,
	  .examples = {
		  { "mmattach -p 1234 -d 8h -o a.mmt --rotate 100M", "a.0001.mmt, a.0002.mmt ..." },
		  { "mmattach report a.0001.mmt a.0002.mmt", "" },
		  { "mmattach scan -p 1234 --with-trace a.mmt", "" },
	  },
	  .text = "A trace can be read while it is written, and if it was cut off.\n" },
	{ .name = "output", .what = "where the report goes, and in which form", .subject = ABOUT_OUTPUT,
	  .examples = {
		  { "mmattach -p 1234 -d 10m --format json --report a.json", "" },
		  { "mmattach report --format html -o a.html a.mmt", "for a browser" },
		  { "mmattach report --format pprof -o a.pb a.mmt", "for pprof" },
		  { "mmattach scan -p 1234 --error-exitcode 3 -o lost.txt", "" },
	  },
	  .text = "Reports go to stdout, messages to stderr. To write the report into a file, give\n"
		  "a watch --report FILE (its -o is the trace), report and diff -o FILE, and scan\n"
		  "either.\n"
		  "Exit status: 0 done, 1 failed, 2 wrong usage, N of --error-exitcode; with\n"
		  "-- PROGRAM the program's own.\n" },
	{ .name = "filters", .what = "what a report shows, and leaves out", .subject = ABOUT_FILTERS,
	  .examples = {
		  { "mmattach report --focus my_lib --ignore cache_ a.mmt", "" },
		  { "mmattach report --older-than 5m --min-bytes 1M a.mmt", "" },
		  { "mmattach report --gen-suppressions a.mmt", "" },
		  { "mmattach report --suppressions my.supp a.mmt", "" },
	  },
	  .text = "REGEX is an extended regular expression. --show and --family filter, too.\n" },
	{ .name = "verdicts", .what = "which live blocks are lost", .subject = ABOUT_VERDICTS,
	  .examples = {
		  { "mmattach -p 1234 -d 10m --verdicts yes", "" },
		  { "mmattach scan -p 1234 --max-pause 3s", "" },
		  { "mmattach report --show definite,possible a.mmt", "" },
	  },
	  .text = "As valgrind has them. definite: nothing points to the block; indirect: only lost\n"
		  "blocks do; possible: only pointers to its inside exist; reachable: in use.\n" },
	{ .name = "blocks", .what = "single blocks and addresses", .subject = ABOUT_BLOCKS,
	  .examples = {
		  { "mmattach report --block-list 3 a.mmt", "the blocks of group [3]" },
		  { "mmattach report --block-list fd:2 a.mmt", "of group [fd 2]" },
		  { "mmattach report --block-at 7f12a4003010 a.mmt", "" },
		  { "mmattach scan -p 1234 --who-points-at 7f12a4003010", "" },
	  },
	  .text = "" },
	{ .name = "general", .what = "messages and help", .subject = ABOUT_GENERAL,
	  .examples = { { "mmattach -p 1234 -d 10s -v --debug trap,thread", "" } },
	  .text = "" },
	{ .name = NULL },
};

bool help_topic_is_command(const struct help_topic *t)
{
	return t->usage;
}

const struct help_topic *help_topic_of_subject(enum option_subject subject)
{
	const struct help_topic *t = help_topics;

	while (t->name && (help_topic_is_command(t) || t->subject != subject))
		t++;
	return t;
}

const struct help_topic *help_topic_find(const char *word)
{
	for (const struct help_topic *t = help_topics; t->name; t++)
		if (!strcmp(t->name, word))
			return t;
	for (size_t i = 0; i < option_count; i++)
		if (!strcmp(option_table[i].name, word + strspn(word, "-")))
			return help_topic_of_subject(option_table[i].subject);
	return NULL;
}
