/* SPDX-License-Identifier: MIT */
/*
 * options: what is accepted, with which result; what is refused, and that the refusal has a hint what to do.
 */
#include "attach/options/options.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/options/option_many.h"
#include "base/verdict.h"

#define WORDS 16

/* The command line, kept with the result of parsing it: options point into it. */
struct line {
	char *argv[WORDS + 1];
	int argc;
	struct options o;
	struct usage_error err;
	int ret;
};

/* The words end with NULL. */
static struct line parse(const char *first, ...)
{
	struct line l = { .argv = { "mmattach" }, .argc = 1 };
	va_list ap;

	va_start(ap, first);
	for (const char *w = first; w && l.argc < WORDS; w = va_arg(ap, const char *))
		l.argv[l.argc++] = (char *)w;
	va_end(ap);
	l.ret = options_parse(l.argc, l.argv, &l.o, &l.err);
	return l;
}

#define accept(...)									\
	({										\
		struct line line_ = parse(__VA_ARGS__, NULL);				\
		if (line_.ret)								\
			fail_msg("refused: %s", line_.err.text);			\
		line_;									\
	})

/* @text and @hint must occur in the message. */
#define refuse(text_, hint_, ...)							\
	do {										\
		struct line line_ = parse(__VA_ARGS__, NULL);				\
		assert_int_equal(line_.ret, -EINVAL);					\
		if (!strstr(line_.err.text, text_))					\
			fail_msg("'%s' not in '%s'", text_, line_.err.text);		\
		if (!strstr(line_.err.hint, hint_))					\
			fail_msg("'%s' not in '%s'", hint_, line_.err.hint);		\
		options_fini(&line_.o);							\
	} while (0)

static void test_defaults(void **state)
{
	struct line l = accept("-p", "1234");

	(void)state;
	assert_int_equal(l.o.command, COMMAND_WATCH);
	assert_int_equal(l.o.pid, 1234);
	assert_null(l.o.name);
	assert_null(l.o.program);
	assert_int_equal(l.o.duration_ns, 0);
	assert_int_equal(
		l.o.what.probes.len + l.o.what.rules.len + l.o.what.families.n + l.o.what.probe_files.n, 0);
	assert_false(l.o.what.exact_sizes);
	assert_int_equal(l.o.stacks.bytes, 32768);
	assert_int_equal(l.o.stacks.depth, 256);
	assert_int_equal(l.o.stacks.unwinder, UNWINDER_CFI);
	assert_false(l.o.stacks.debuginfod);
	assert_int_equal(l.o.max_stall_ns, 100000000);
	assert_ptr_equal(l.o.format, &report_format_text);
	assert_null(l.o.report);
	assert_int_equal(l.o.shown.top, 20);
	assert_false(l.o.quiet || l.o.verbose);
	assert_null(l.o.debug);
	options_fini(&l.o);
}

static void test_every_option(void **state)
{
	struct line l =
		accept("-n", "svc", "-d1h30m", "--sizes", "exact", "--stack-bytes=16384", "--max-stall",
		       "50ms", "--format=json", "--report=-out", "--top", "0", "-v", "--debug=event,trap");

	(void)state;
	assert_string_equal(l.o.name, "svc");
	assert_int_equal(l.o.duration_ns, 5400ull * 1000000000);
	assert_true(l.o.what.exact_sizes);
	assert_int_equal(l.o.stacks.bytes, 16384);
	assert_int_equal(l.o.max_stall_ns, 50000000);
	assert_ptr_equal(l.o.format, &report_format_json);
	assert_string_equal(l.o.report, "-out");
	assert_int_equal(l.o.shown.top, 0);
	assert_true(l.o.verbose);
	assert_false(l.o.quiet);
	assert_string_equal(l.o.debug, "event,trap");
	options_fini(&l.o);
}

static void test_stack_options(void **state)
{
	static const char *const names[] = { "cfi", "dwfl", "libunwind", "check" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct line l = accept("-p", "1", "--depth=30", "--unwinder", names[i], "--debuginfod");

		assert_int_equal(l.o.stacks.depth, 30);
		assert_int_equal(l.o.stacks.unwinder, UNWINDER_CFI + i);
		assert_true(l.o.stacks.debuginfod);
		options_fini(&l.o);
	}
}

static void test_trace_options(void **state)
{
	struct line l = accept("-p", "1", "-o", "t.mmt", "--rotate=100M", "--raw", "--on-trace-error", "end",
			       "--interval", "10s", "--free-stacks", "--error-exitcode", "3");

	(void)state;
	assert_string_equal(l.o.output, "t.mmt");
	assert_int_equal(l.o.trace.rotate_bytes, 100 << 20);
	assert_true(l.o.trace.raw && l.o.trace.end_on_error && l.o.free_stacks);
	assert_int_equal(l.o.interval_ns, 10000000000ull);
	assert_int_equal(l.o.error_exitcode, 3);
	options_fini(&l.o);
	refuse("--rotate 1: must be at least 64K", "", "-p", "1", "-o", "t", "--rotate", "1");
	refuse("--rotate 64X: not a size", "100M", "-p", "1", "-o", "t", "--rotate", "64X");
	refuse("--rotate: no trace is written", "-o FILE", "-p", "1", "--rotate", "1M");
	refuse("--raw: no trace is written", "-o FILE", "-p", "1", "--raw");
	refuse("--on-trace-error: no trace", "-o FILE", "-p", "1", "--on-trace-error=end");
	refuse("--on-trace-error cry: must be go-on or end", "", "-p", "1", "-o", "t",
	       "--on-trace-error=cry");
	refuse("--interval 10ms: must be at least 1s", "", "-p", "1", "--interval", "10ms");
	refuse("--interval soon: not a duration", "10m", "-p", "1", "--interval", "soon");
	refuse("--error-exitcode 256: must be a number", "", "-p", "1", "--error-exitcode", "256");
	refuse("-o is given twice", "", "-p", "1", "-o", "a", "-o", "b");
	refuse("-o: the file name is empty", "", "-p", "1", "-o", "");
	refuse("-o and --report name the same", "", "-p", "1", "-o", "x", "--report", "x");
}

static void test_report_options(void **state)
{
	struct line l = accept("report", "--format=csv", "--older-than", "5m", "--min-bytes=4K", "--focus",
			       "a", "--focus=b", "--ignore", "c", "--suppressions", "s", "--wrappers=show",
			       "--color=always", "x.mmt");

	(void)state;
	assert_ptr_equal(l.o.format, &report_format_csv);
	assert_int_equal(l.o.shown.older_than_ns, 300000000000ull);
	assert_int_equal(l.o.shown.min_bytes, 4096);
	assert_int_equal(l.o.shown.focus.n, 2);
	assert_string_equal(l.o.shown.focus.all[1], "b");
	assert_int_equal(l.o.shown.ignore.n, 1);
	assert_string_equal(l.o.shown.suppressions.all[0], "s");
	assert_true(l.o.shown.keep_wrappers);
	assert_int_equal(l.o.shown.color, COLOR_ALWAYS);
	options_fini(&l.o);
	l = accept("report", "--gen-suppressions", "--wrappers", "skip", "x.mmt");
	assert_true(l.o.shown.gen_suppressions);
	assert_false(l.o.shown.keep_wrappers);
	assert_int_equal(l.o.shown.color, COLOR_AUTO);
	options_fini(&l.o);
	l = accept("report", "--per-object", "--family", "dict,fd", "x.mmt");
	assert_true(l.o.shown.per_object);
	assert_string_equal(l.o.what.families.all[0], "dict,fd");
	options_fini(&l.o);
	refuse("--per-object goes with --format text, json and html", "", "report", "--per-object", "--format=csv", "x");
	refuse("--wrappers maybe: must be skip or show", "", "report", "--wrappers", "maybe", "x");
	refuse("--color blue: must be auto, always or never", "", "report", "--color", "blue", "x");
	refuse("--min-bytes some: not a size", "64K", "report", "--min-bytes", "some", "x");
	refuse("--gen-suppressions goes with the text", "", "report", "--gen-suppressions", "--format=json", "x");
	refuse("--format yaml: must be text, json, csv", "", "report", "--format=yaml", "x");
}

static void test_single_blocks(void **state)
{
	struct line l = accept("report", "--block-list", "3", "--block-at", "0x7f00AbC,10",
			       "--block-at=ffffffffffffffff", "x.mmt");

	(void)state;
	assert_int_equal(l.o.single.block_entry, 3);
	assert_null(l.o.single.block_family);
	assert_int_equal(l.o.single.nblock_at, 3);
	assert_int_equal(l.o.single.block_at[0], 0x7f00abc);
	assert_int_equal(l.o.single.block_at[1], 0x10);
	assert_int_equal(l.o.single.block_at[2], UINT64_MAX);
	options_fini(&l.o);
	for (const char *const *same = (const char *const[]){ "fd:3", "fd 3", "[fd 3]", "[fd:3]", NULL };
	     *same; same++) {
		l = accept("report", "--format=json", "--per-object", "--block-list", *same, "x.mmt");
		assert_int_equal(l.o.single.block_entry, 3);
		assert_string_equal(l.o.single.block_family, "fd");
		options_fini(&l.o);
	}
	l = accept("report", "--block-list", "[3]", "x.mmt");
	assert_int_equal(l.o.single.block_entry, 3);
	options_fini(&l.o);
	for (const char *const *bad = (const char *const[]){ "0", "-1", "", "[", "[]", "[3", "3]", "fd",
							     "fd:", ":3", "3:fd", "3x", "fd:0", NULL };
	     *bad; bad++)
		refuse("not the number of a group", "fd:3", "report", "--block-list", *bad, "x");
	for (const char *const *bad = (const char *const []){ "", "0x", "x", "-1", "+1", " 1", "1 ", "1,", ",1", "1,,2", "0x0x1", "12g",
							      "10000000000000000", NULL };
	     *bad; bad++)
		refuse(": not an address", "hexadecimal", "report", "--block-at", *bad, "x");
	refuse("--block-list is given twice", "", "report", "--block-list=1", "--block-list=2", "x");
	refuse("--block-list goes with --format text, json and html", "", "report", "--block-list=1",
	       "--format=csv", "x");
	refuse("--block-at goes with --format text, json and html", "", "report", "--block-at=1", "--format=folded",
	       "x");
	refuse("--block-at and --gen-suppressions", "", "report", "--block-at=1", "--gen-suppressions", "x");
	refuse("--block-list and --per-object", "", "report", "--block-list=1", "--per-object", "x");
	refuse("--block-list is no option of watch", "it is one of report;", "-p", "1", "--block-list=1");
	refuse("--block-at is no option of diff", "", "diff", "--block-at=1", "x", "y");
	refuse("--block-at is no option of shrink", "", "shrink", "--block-at=1", "x", "-o", "y");
	refuse("--block-list is no option of import", "", "import", "mtrace", "--block-list=1", "x", "-o",
	       "y");
}

static void test_probes_as_json(void **state)
{
	struct line l = accept("probes", "--json", "-p", "1");

	(void)state;
	assert_true(l.o.json);
	options_fini(&l.o);
	refuse("--json needs a process", "", "probes", "--json");
	refuse("--json is no option of watch", "", "-p", "1", "--json");
}

static void test_files(void **state)
{
	struct line l = accept("report", "a.mmt", "b.mmt", "-o", "out");

	(void)state;
	assert_int_equal(l.o.command, COMMAND_REPORT);
	assert_int_equal(l.o.files.n, 2);
	assert_string_equal(l.o.files.all[1], "b.mmt");
	options_fini(&l.o);
	l = accept("diff", "old", "--", "-new");
	assert_int_equal(l.o.command, COMMAND_DIFF);
	assert_string_equal(l.o.files.all[1], "-new");
	options_fini(&l.o);
	l = accept("shrink", "-o", "out", "report"); /* a file of that name */
	assert_int_equal(l.o.command, COMMAND_SHRINK);
	assert_string_equal(l.o.files.all[0], "report");
	options_fini(&l.o);
	l = accept("merge", "--label", "a=b,c=d", "--label", "e=", "x", "y", "-o", "out");
	assert_int_equal(l.o.command, COMMAND_MERGE);
	assert_int_equal(l.o.labels.n, 2);
	assert_string_equal(l.o.labels.all[1], "e=");
	options_fini(&l.o);
	l = accept("report", "--by", "process", "a.mmt");
	assert_true(l.o.shown.by_process);
	options_fini(&l.o);
	refuse("merge needs the name of the file to write", "-o OUT", "merge", "a");
	refuse("--label x: not KEY=VALUE", "host=a1", "merge", "a", "-o", "b", "--label", "x");
	refuse("--by process: --format csv has no table of processes", "json", "report", "--by", "process", "--format",
	       "csv", "a");
	l = accept("import", "mmleak", "dump", "--maps", "m", "-o", "out");
	assert_int_equal(l.o.import, IMPORT_MMLEAK);
	assert_string_equal(l.o.maps, "m");
	options_fini(&l.o);
	l = accept("import", "mtrace", "mmleak", "-o", "out");
	assert_int_equal(l.o.import, IMPORT_MTRACE);
	options_fini(&l.o);
	refuse("report needs the name of a file", "mmattach report FILE...", "report");
	refuse("diff compares two traces, but 1 is given", "shrink", "diff", "a");
	refuse("diff compares two traces, but 3 are given", "shrink", "diff", "a", "b", "c");
	refuse("shrink needs the name of the file to write", "-o OUT", "shrink", "a");
	refuse("shrink needs the name of a file", "shrink FILE... -o OUT", "shrink", "-o", "x");
	refuse("import needs a kind", "mmleak|mtrace", "import", "-o", "x");
	refuse("import yaml: must be mmleak or mtrace", "", "import", "yaml", "x", "-o", "y");
	refuse("--maps is no option of import mtrace", "", "import", "mtrace", "x", "--maps", "m", "-o", "y");
	refuse("--pid is no option of report", "mmattach help report", "report", "-p", "1", "x");
	refuse("--maps is no option of watch", "", "-p", "1", "--maps", "m");
	refuse("unexpected argument 'svc.mmt'", "mmattach report svc.mmt", "svc.mmt");
}

static void test_rules(void **state)
{
	struct line l = accept("-p", "1", "--probe", "alloc my_alloc size=arg2", "--from", "start_it",
			       "--probe", "free my_free", "--until=lib.so+0x10");

	(void)state;
	assert_string_equal(strbuf_str(&l.o.what.probes), "alloc my_alloc size=arg2\nfree my_free\n");
	assert_string_equal(strbuf_str(&l.o.what.rules), "from start_it\nuntil lib.so+0x10\n");
	options_fini(&l.o);
	l = accept("-p", "1", "--in", "work", "--family", "libc,fd", "--family=gf", "--probes", "my.probes");
	assert_string_equal(strbuf_str(&l.o.what.rules), "in work\n");
	assert_int_equal(l.o.what.families.n, 2);
	assert_string_equal(l.o.what.families.all[0], "libc,fd");
	assert_int_equal(l.o.what.probe_files.n, 1);
	assert_string_equal(l.o.what.probe_files.all[0], "my.probes");
	options_fini(&l.o);
}

static void assert_ref(const char *arg, const char *lines)
{
	struct line l = accept("-p", "1", "--ref", arg);

	assert_string_equal(strbuf_str(&l.o.what.rules), lines);
	options_fini(&l.o);
}

static void test_refs(void **state)
{
	(void)state;
	assert_ref("get:put", "family get refs\nref get obj=arg1\nunref put obj=arg1\n");
	assert_ref("g:p:arg2", "family g refs\nref g obj=arg2\nunref p obj=arg2\n");
	assert_ref("g:l.so+0x10:count=-8/4", "family g refs\nref g obj=arg1 count=*u32(arg1-8)\nunref "
					     "l.so+0x10 obj=arg1 count=*u32(arg1-8)\n");
	assert_ref("g:p:birth=n,m:count=+0x10/8:arg3",
		   "family g refs\nref g obj=arg3 count=*u64(arg3+16)\nunref p obj=arg3 count=*u64(arg3+16)\n"
		   "ref n obj=ret count=*u64(ret+16)\nref m obj=ret count=*u64(ret+16)\n");
	refuse("--ref 'g'", "--ref my_get:my_put", "-p", "1", "--ref", "g");
	refuse("--ref 'g:'", "--ref my_get:my_put", "-p", "1", "--ref", "g:");
	refuse("--ref ':p'", "--ref my_get:my_put", "-p", "1", "--ref", ":p");
	refuse("not understood: 'arg7'", "argN (1 to 6)", "-p", "1", "--ref", "g:p:arg7");
	refuse("not understood: 'count=8/4'", "count=+OFFSET", "-p", "1", "--ref", "g:p:count=8/4");
	refuse("not understood: 'count=+8/3'", "count=+OFFSET", "-p", "1", "--ref", "g:p:count=+8/3");
	refuse("not understood: ''", "birth=", "-p", "1", "--ref", "g:p:");
	refuse("expected KEY=VALUE", "--ref inode_ref", "-p", "1", "--ref", "g:p q");
}

static void test_bad_rules(void **state)
{
	(void)state;
	refuse("--probe 'alloc'", "--probe 'alloc my_alloc size=arg1'", "-p", "1", "--probe", "alloc");
	refuse("--probe 'grow it'", "'free my_free'", "-p", "1", "--probe", "grow it");
	refuse("--from ''", "name of a function", "-p", "1", "--from", "");
	refuse("--until 'f g'", "MODULE+0xOFFSET", "-p", "1", "--until", "f g");
	refuse("(column 3)", "MODULE+0xOFFSET", "-p", "1", "--in", "f g");
	refuse("--probe 'family f g'", "--probe 'alloc", "-p", "1", "--probe", "alloc a", "--probe", "family f g");
	refuse("--growth watches only", "--family libc,growth", "-p", "1", "--growth", "--family", "fd");
	refuse("--growth has no verdicts", "", "-p", "1", "--growth", "--verdicts", "yes");
	refuse("--growth is no option of report", "", "report", "--growth", "x.mmt");
	refuse("--family 'a,,b'", "mmattach probes", "-p", "1", "--family", "a,,b");
	refuse("--family ''", "mmattach probes", "-p", "1", "--family", "");
}

static void test_program(void **state)
{
	struct line l = accept("-qd", "5s", "--", "./prog", "-p", "--help", "--");

	(void)state;
	assert_true(l.o.quiet);
	assert_int_equal(l.o.pid, 0);
	assert_string_equal(l.o.program[0], "./prog");
	assert_string_equal(l.o.program[1], "-p");
	assert_string_equal(l.o.program[2], "--help");
	assert_string_equal(l.o.program[3], "--");
	assert_null(l.o.program[4]);
	refuse("nothing behind --", "mmattach -- PROGRAM", "--");
	refuse("nothing behind --", "mmattach -- PROGRAM", "-d", "3s", "--");
}

static void test_commands(void **state)
{
	struct line l = accept("probes");

	(void)state;
	assert_int_equal(l.o.command, COMMAND_PROBES);
	assert_int_equal(l.o.pid, 0);
	l = accept("probes", "-p", "77", "--sizes=exact");
	assert_int_equal(l.o.pid, 77);
	options_fini(&l.o);
	l = accept("repair", "99");
	assert_int_equal(l.o.command, COMMAND_REPAIR);
	assert_int_equal(l.o.pid, 99);
	l = accept("-v", "repair", "99");
	assert_int_equal(l.o.command, COMMAND_REPAIR);
	l = accept("repair", "--help");
	assert_int_equal(l.o.command, COMMAND_HELP);
	assert_string_equal(l.o.help_topic, "repair");
	l = accept("watch", "--help");
	assert_string_equal(l.o.help_topic, "watch");
	l = accept("--help");
	assert_null(l.o.help_topic);
	l = accept("watch", "-p", "99");
	assert_int_equal(l.o.command, COMMAND_WATCH);
	assert_int_equal(l.o.pid, 99);
	options_fini(&l.o);
	l = accept("help");
	assert_int_equal(l.o.command, COMMAND_HELP);
	assert_null(l.o.help_topic);
	l = accept("help", "scan");
	assert_int_equal(l.o.command, COMMAND_HELP);
	assert_string_equal(l.o.help_topic, "scan");
	l = accept("help", "--budget");
	assert_string_equal(l.o.help_topic, "--budget");
	l = accept("help", "all");
	assert_string_equal(l.o.help_topic, "all");
	l = accept("scan", "-p", "1", "-o", "x");
	assert_string_equal(l.o.output, "x");
	options_fini(&l.o);
	l = accept("--version");
	assert_int_equal(l.o.command, COMMAND_VERSION);
}

static void test_command_mistakes(void **state)
{
	(void)state;
	refuse("help scna: there is no such topic", "did you mean scan? topics are watch, top, report", "help",
	       "scna");
	refuse("help zzz: there is no such topic", "topics are watch, top, report", "help", "zzz");
	refuse("unexpected argument 'reprot'", "did you mean mmattach report?", "reprot", "x.mmt");
	refuse("unexpected argument 'hlep'", "did you mean mmattach help?", "hlep");
	refuse("repair needs the id", "mmattach repair PID", "repair");
	refuse("repair x: not a process id", "ps -e", "repair", "x");
	refuse("one process at a time", "", "repair", "1", "2");
	refuse("--format is no option of probes", "watch, report, diff, scan", "probes", "--format", "json");
	refuse("--pid is no option of repair", "mmattach repair 5", "repair", "-p", "5");
	refuse("probes is for a running process", "", "probes", "--", "ls");
	refuse("unexpected argument 'ls'", "mmattach -- ls", "ls", "-l");
	refuse("unexpected argument '1234'", "mmattach -p 1234", "1234");
	refuse("unexpected argument '5'", "mmattach -p 5", "probes", "5");
	refuse("unexpected argument 'probes'", "", "probes", "probes");
}

static void test_target_mistakes(void **state)
{
	static const char *const bad[] = { "x", "0", "12x", "0x10", "+5", "99999999999", ",", "", "1e3" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuse("not a process id", "-n", "-p", bad[i]);
	refuse("-p x: not a process id", "`ps -e`", "-p", "1,x");
	refuse("-p: one process at a time", "only watch", "top", "-p", "1,2");
	refuse("-p: one process at a time", "only watch", "scan", "-p", "1", "-p", "2");
	refuse("unexpected argument '10m'", "-d 10m", "-p", "1", "10m");
	refuse("unexpected argument '30'", "-d 30", "-p", "1", "30");
	refuse("unexpected argument '2'", "mmattach -p 2", "2");
	refuse("-p and -n", "-p PID or -n NAME", "-p", "1", "-n", "x");
	refuse("-p and --", "a program to start", "-p", "1", "--", "ls");
	refuse("-n and --", "a program to start", "-n", "x", "--", "ls");
	refuse("-n is given twice", "", "-n", "a", "-n", "b");
	refuse("the name is empty", "", "-n", "");
	refuse("nothing to watch", "-p PID", "-d", "5s");
}

static void test_missing_arguments(void **state)
{
	(void)state;
	refuse("-p needs an argument", "-p PID", "-p");
	refuse("-p needs an argument", "-p PID", "-p", "-d", "10s");
	refuse("--pid needs an argument", "-p PID", "--pid", "--", "ls");
	refuse("--report needs an argument", "--report FILE", "-p", "1", "--report");
	refuse("--quiet takes no argument", "", "-p", "1", "--quiet=yes");
	refuse("--help takes no argument", "", "--help=me");
}

static void test_unknown_options(void **state)
{
	(void)state;
	refuse("unknown option --reprot", "did you mean --report?", "--reprot", "x");
	refuse("unknown option --reprot", "did you mean --report?", "--reprot=x");
	refuse("unknown option --stack", "did you mean --stack-bytes?", "--stack", "100");
	refuse("unknown option --pids", "did you mean --pid?", "--pids");
	refuse("unknown option --zzzzzz", "mmattach help all", "--zzzzzz");
	refuse("unknown option -x", "mmattach help all", "-x");
	refuse("unknown option -qx", "mmattach help all", "-qx");
	refuse("unknown option --aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "",
	       "--aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

/* Where the values of an option are words, the nearest one is suggested. */
static void test_near_values(void **state)
{
	(void)state;
	refuse("--format jsno", "did you mean json?", "-p", "1", "--format", "jsno");
	refuse("--sizes exat", "did you mean exact?", "-p", "1", "--sizes=exat");
	refuse("--unwinder cif", "did you mean cfi?", "-p", "1", "--unwinder", "cif");
	refuse("--verdicts atuo", "did you mean auto?", "-p", "1", "--verdicts", "atuo");
	refuse("--on-trace-error goon", "did you mean go-on?", "-p", "1", "-o", "t", "--on-trace-error=goon");
	refuse("--color neve", "did you mean never?", "report", "--color", "neve", "x");
	refuse("--wrappers shwo", "did you mean show?", "report", "--wrappers", "shwo", "x");
	refuse("import mmlaek", "did you mean mmleak?", "import", "mmlaek", "x", "-o", "y");
	refuse("--show defnite", "did you mean definite?", "report", "--show", "possible,defnite", "x");
	refuse("--who-points-at posible", "did you mean possible?", "-p", "1", "--who-points-at", "posible");
	for (const char *const *far = (const char *const []){ "maybe", "", "n", NULL }; *far; far++) {
		struct line l = parse("-p", "1", "--verdicts", *far, NULL);

		assert_int_equal(l.ret, -EINVAL);
		options_fini(&l.o);
		assert_string_equal(l.err.hint, "");
	}
}

static void test_bad_values(void **state)
{
	(void)state;
	refuse("-d soon: not a duration", "10m", "-p", "1", "-d", "soon");
	refuse("-d 0: must be longer", "Ctrl-C", "-p", "1", "-d", "0");
	refuse("--sizes big", "", "-p", "1", "--sizes", "big");
	refuse("0 to 131072", "", "-p", "1", "--stack-bytes", "131073");
	refuse("0 to 131072", "", "-p", "1", "--stack-bytes", "-1x");
	refuse("0 to 131072", "", "-p", "1", "--stack-bytes=-1");
	refuse("1 to 256", "", "-p", "1", "--depth", "0");
	refuse("1 to 256", "", "-p", "1", "--depth", "257");
	refuse("cfi, dwfl, libunwind or check", "", "-p", "1", "--unwinder", "gdb");
	refuse("at most 2s", "100ms", "-p", "1", "--max-stall", "3s");
	refuse("auto, yes or no", "", "-p", "1", "--verdicts", "perhaps");
	refuse("the process is not paused", "", "-p", "1", "--verdicts", "no", "--max-pause", "1s");
	refuse("gdb is the tracer", "hand-over", "gdb", "-p", "1", "--fds", "3,4,5", "--verdicts", "yes");
	refuse("is no option of report", "", "report", "x.mmt", "--verdicts", "yes");
	refuse("at most 2s", "100ms", "-p", "1", "--max-stall", "0");
	refuse("text, json", "", "-p", "1", "--format", "xml");
	refuse("--top many", "", "-p", "1", "--top", "many");
	refuse("file name is empty", "", "-p", "1", "--report=");
	refuse("-q and -v", "", "-p", "1", "-qv");
}

/* options_start prints: redirect that to /dev/null, or to a file to read. */
static bool start(int argc, char **argv, int *status, char *printed, size_t n)
{
	FILE *tmp = tmpfile();
	int keep_out = dup(1), keep_err = dup(2);
	struct options o;
	bool go_on;
	ssize_t got;

	assert_non_null(tmp);
	fflush(stdout);
	dup2(fileno(tmp), 1);
	dup2(fileno(tmp), 2);
	go_on = options_start(argc, argv, &o, status);
	fflush(stdout);
	dup2(keep_out, 1);
	dup2(keep_err, 2);
	close(keep_out);
	close(keep_err);
	got = pread(fileno(tmp), printed, n - 1, 0);
	printed[got > 0 ? got : 0] = '\0';
	fclose(tmp);
	options_fini(&o);
	return go_on;
}

static void test_start(void **state)
{
	char *none[] = { "mmattach", NULL };
	char *help[] = { "mmattach", "--help", NULL };
	char *bad[] = { "mmattach", "-p", "x", NULL };
	char *domain[] = { "mmattach", "-p", "1", "--debug=nonsense", NULL };
	char *good[] = { "mmattach", "-p", "1", NULL };
	static char text[16384];
	int status = -1;

	(void)state;
	assert_false(start(1, none, &status, text, sizeof(text)));
	assert_int_equal(status, 2);
	assert_non_null(strstr(text, "usage: mmattach [watch] [options] (-p PID,... | -n NAME | -- PROGRAM "
				     "ARG...)"));
	assert_false(start(2, help, &status, text, sizeof(text)));
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "  mmattach -p 1234 -d 10m"));
	assert_false(start(3, bad, &status, text, sizeof(text)));
	assert_int_equal(status, 2);
	assert_non_null(strstr(text, "-p x: not a process id"));
	assert_false(start(4, domain, &status, text, sizeof(text)));
	assert_int_equal(status, 2);
	assert_non_null(strstr(text, "--debug nonsense: there is no such domain"));
	assert_true(start(3, good, &status, text, sizeof(text)));
	assert_string_equal(text, "");
}

static void test_budget(void **state)
{
	static const struct { const char *text; uint32_t ppm;
	} good[] = {
		{ "1%", 10000 },   { "1", 10000 },	{ "0.5%", 5000 },   { ".05", 500 },
		{ "50%", 500000 }, { "2.125%", 21250 }, { "01.0%", 10000 },
	};
	static const char *const bad[] = { "",	 "%",	     ".",   "-1",    "+1",	"1%%", "1 %",
					   " 1", "nonsense", "1e2", "1.2.3", "0.00001", "nan", "0x1" };
	static const char *const little[] = { "0", "0%", "0.0499%" }, *const much[] = { "50.0001", "51%",
											"100", "99999999" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct line l = accept("-p", "1", "--budget", good[i].text);

		assert_int_equal(l.o.budget_ppm, good[i].ppm);
		options_fini(&l.o);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refuse("must be a percentage", "--budget 1%", "-p", "1", "--budget", bad[i]);
	for (size_t i = 0; i < sizeof(little) / sizeof(*little); i++)
		refuse("must be at least 0.05%", "1% is usual", "-p", "1", "--budget", little[i]);
	for (size_t i = 0; i < sizeof(much) / sizeof(*much); i++)
		refuse("must be at most 50%", "every call is seen", "-p", "1", "--budget", much[i]);
	refuse("is no option of report", "", "report", "x.mmt", "--budget", "1%");
	refuse("is no option of scan", "", "scan", "-p", "1", "--budget", "1%");
}

static void test_budget_goes_with(void **state)
{
	struct line l = accept("-p", "1", "--budget", "1%", "-o", "x.mmt", "--rotate", "1M", "--interval",
			       "10s", "--verdicts", "no", "--family", "libc,cxx");

	(void)state;
	options_fini(&l.o);
	refuse("watch it with -p", "", "--budget", "1%", "--", "ls");
	refuse("not with --verdicts yes", "", "-p", "1", "--budget", "1%", "--verdicts", "yes");
	l = accept("-p", "1", "--budget", "1%", "--max-pause", "10ms");
	assert_int_equal(l.o.max_pause_ns, 10000000);
	options_fini(&l.o);
	refuse("each call begins", "", "-p", "1", "--budget", "1%", "--sizes", "exact");
	refuse("each free", "", "-p", "1", "--budget", "1%", "--free-stacks");
	refuse("fair sample", "", "-p", "1", "--budget", "1%", "--thread", "x");
	refuse("fair sample", "", "-p", "1", "--budget", "1%", "--module", "x");
	refuse("threads have to wait", "", "-p", "1", "--budget", "1%", "--unwinder", "dwfl");
	refuse("costs next to nothing", "", "-p", "1", "--budget", "1%", "--growth");
	refuse("callers of a wrapper are one allocation site", "", "-p", "1", "--budget", "1%", "--depth", "1");
	refuse("callers of a wrapper are one allocation site", "", "-p", "1", "--budget", "1%",
	       "--stack-bytes", "0");
	l = accept("-p", "1", "--budget", "1%", "--depth", "2", "--stack-bytes", "1");
	options_fini(&l.o);
	l = accept("-p", "1", "--depth", "1", "--stack-bytes", "0");
	options_fini(&l.o);
}

static void test_scan(void **state)
{
	struct line l =
		accept("scan", "-p", "12", "--format=json", "--report", "r", "--top=0", "--min-bytes", "4K",
		       "--show", "definite,possible", "--with-trace=a.mmt", "--with-trace", "b.mmt");

	(void)state;
	assert_int_equal(l.o.command, COMMAND_SCAN);
	assert_int_equal(l.o.pid, 12);
	assert_int_equal(l.o.shown.verdicts, 1u << VERDICT_DEFINITE | 1u << VERDICT_POSSIBLE);
	assert_int_equal(l.o.with_traces.n, 2);
	options_fini(&l.o);
	l = accept("scan", "-n", "svc", "--max-pause=3s", "--verdicts", "yes");
	assert_int_equal(l.o.max_pause_ns, 3000000000);
	assert_int_equal(l.o.verdicts, VERDICTS_YES);
	options_fini(&l.o);
	l = accept("scan", "--core", "core.1", "--exe=/srv/svc", "--who-points-at", "0x7f00,10",
		   "--who-points-at=20");
	assert_string_equal(l.o.core, "core.1");
	assert_string_equal(l.o.exe, "/srv/svc");
	assert_int_equal(l.o.single.nwho_points_at, 3);
	assert_int_equal(l.o.single.who_points_at[0], 0x7f00);
	assert_int_equal(l.o.single.who_points_at[2], 0x20);
	options_fini(&l.o);
	options_fini(&l.o);	/* calling it twice does no harm */
}

static void test_scan_refusals(void **state)
{
	(void)state;
	refuse("nothing to scan", "--core FILE", "scan");
	refuse("-p and --core", "", "scan", "-p", "1", "--core", "c");
	refuse("-n and --core", "", "scan", "-n", "x", "--core", "c");
	refuse("-p and -n", "", "scan", "-p", "1", "-n", "x");
	refuse("--core is given twice", "", "scan", "--core", "a", "--core", "b");
	refuse("--core: the file name is empty", "", "scan", "--core=");
	refuse("--exe goes with --core", "", "scan", "-p", "1", "--exe", "e");
	refuse("--exe: the file name is empty", "", "scan", "--core", "a", "--exe=");
	refuse("--max-pause and --core", "", "scan", "--core", "c", "--max-pause=1s");
	refuse("--max-pause 0s: must be", "200ms", "scan", "-p", "1", "--max-pause=0s");
	refuse("--verdicts maybe: must be auto", "", "scan", "-p", "1", "--verdicts=maybe");
	refuse("--show needs verdicts", "", "scan", "-p", "1", "--verdicts=no", "--show=definite");
	refuse("--error-exitcode needs verdicts", "", "scan", "-p", "1", "--verdicts=no",
	       "--error-exitcode=1");
	refuse("scan is for a running process", "", "scan", "--", "prog");
	refuse("unexpected argument '12'", "mmattach scan -p 12", "scan", "12");
	refuse("unexpected argument 'core.1'", "--core core.1", "scan", "core.1");
	refuse("--format folded: it is made of stacks", "csv", "scan", "-p", "1", "--format=folded");
	refuse("--who-points-at goes with", "", "scan", "-p", "1", "--format=csv", "--who-points-at", "1");
	refuse("--who-points-at x1: not an address", "hexadecimal", "scan", "-p", "1", "--who-points-at", "12,x1,3");
	refuse("--show lost: not a verdict", "definite", "scan", "-p", "1", "--show", "definite,lost");
	refuse("--show : not a verdict", "definite", "scan", "-p", "1", "--show=");
	refuse("--show unknown: not a verdict", "", "scan", "-p", "1", "--show=unknown");
	refuse("--with-trace: the file name is empty", "", "scan", "-p", "1", "--with-trace=");
	refuse("--core is no option of watch", "", "-p", "1", "--core", "c");
	refuse("--show is no option of diff", "", "diff", "--show", "definite", "x.mmt", "y.mmt");
	refuse("--show needs verdicts", "", "-p", "1", "--verdicts=no", "--show=definite");
	refuse("--duration is no option of scan", "", "scan", "-p", "1", "-d", "1s");
	refuse("-o and --report are the same", "", "scan", "-p", "1", "-o", "x", "--report", "y");
}

static void test_top_and_its_watch(void **state)
{
	struct line l = accept("top", "-p", "1234", "--budget", "1%", "-o", "a.mmt", "--rotate", "1M", "-d", "10s",
			       "--ref", "a:b");

	(void)state;
	assert_int_equal(l.o.command, COMMAND_TOP);
	assert_ptr_equal(l.o.help_topic, l.argv[1]);
	options_fini(&l.o);
	l = accept("top", "a.mmt", "--interval", "2s", "-q");
	assert_int_equal(l.o.interval_ns, 2000000000ull);
	options_fini(&l.o);
	refuse("nothing to show", "top TRACE", "top");
	refuse("one trace, or one process", "", "top", "a.mmt", "-p", "1");
	refuse("one trace, or one process", "", "top", "a.mmt", "b.mmt");
	refuse("--budget: a trace is shown", "top -p PID", "top", "a.mmt", "--budget", "1%");
	refuse("--output: a trace is shown", "top -p PID", "top", "a.mmt", "-o", "b.mmt");
	refuse("--rotate: no trace is written", "-o FILE", "top", "-p", "1", "--rotate", "1M");
	refuse("--max-pause and --verdicts no", "", "top", "-p", "1", "--max-pause", "1s", "--verdicts", "no");
	refuse("--verbose is no option of top", "it is one of", "top", "-p", "1", "-v");
	refuse("--format is no option of top", "it is one of", "top", "-p", "1", "--format", "json");
	refuse("--report is no option of top", "it is one of", "top", "-p", "1", "--report", "a");
	refuse("--growth watches only", "", "top", "-p", "1", "--growth", "--ref", "a:b");
	refuse("--budget: not with --growth", "", "top", "-p", "1", "--growth", "--budget", "1%");
}

static void test_follow(void **state)
{
	struct line l = accept("report", "--follow", "--interval", "1s", "a.mmt");

	(void)state;
	assert_true(l.o.follow);
	options_fini(&l.o);
	refuse("a trace that is complete", "--follow", "report", "--interval", "1s", "a.mmt");
	refuse("one trace can be followed", "first piece", "report", "--follow", "a.mmt", "b.mmt");
	refuse("--follow and --block-list", "", "report", "--follow", "--block-list", "1", "a.mmt");
	refuse("--follow is no option of scan", "it is one of watch, report", "scan", "-p", "1", "--follow");
}

/* The list of -p, as the user or pgrep writes it. */
static void test_several_processes(void **state)
{
	struct line l = accept("-p", "12,34", "-p", "56\n12\n");

	(void)state;
	assert_int_equal(l.o.many.npids, 3);
	assert_int_equal(l.o.many.pids[0], 12);
	assert_int_equal(l.o.many.pids[1], 34);
	assert_int_equal(l.o.many.pids[2], 56);
	assert_true(option_many_wanted(&l.o));
	options_fini(&l.o);
	l = accept("-p", "12");
	assert_false(option_many_wanted(&l.o));
	options_fini(&l.o);
	l = accept("-n", "nginx", "--all");
	assert_true(option_many_wanted(&l.o));
	options_fini(&l.o);
	l = accept("-f", "--", "make");
	assert_true(option_many_wanted(&l.o));
	options_fini(&l.o);
	l = accept("--tree", "12", "--budget", "1%", "--budget-of", "all");
	assert_int_equal(l.o.many.tree, 12);
	assert_true(l.o.many.budget_shared);
	options_fini(&l.o);
	l = accept("report", "--follow", "a.mmt");
	assert_false(option_many_wanted(&l.o));
	options_fini(&l.o);
}

static void test_mistakes_about_several(void **state)
{
	(void)state;
	refuse("--all is for a name", "", "-p", "1", "--all");
	refuse("only one of them", "", "--tree", "1", "-p", "2");
	refuse("only one of them", "", "--cgroup", "/a", "--unit", "b");
	refuse("--tree x: not a process id", "", "--tree", "x");
	refuse("--cgroup a: must be the path", "/system.slice", "--cgroup", "a");
	refuse("--cgroup //: must be the path", "", "--cgroup", "//");
	refuse("--unit a/b: must be the name", "", "--unit", "a/b");
	refuse("--container web: must be the id", "no daemon", "--container", "web");
	refuse("--container 0123456789a: must be the id", "", "--container", "0123456789a");
	refuse("--budget-of all: one process", "", "-p", "1", "--budget", "1%", "--budget-of", "all");
	refuse("--budget-of: there is no budget", "", "-p", "1,2", "--budget-of", "all");
	refuse("--interval: several", "-p PID", "-p", "1,2", "--interval", "5s");
	refuse("--metrics: a file", "-p PID", "--tree", "1", "--metrics", "m");
	refuse("--rotate: traces", "-p PID", "-p", "1,2", "-o", "d/", "--rotate", "1M");
	refuse("--who-points-at: addresses", "-p PID", "-p", "1,2", "--who-points-at", "10");
	refuse("--older-than: several", "-p PID", "-p", "1,2", "--older-than", "5s");
	refuse("--per-object: several", "-p PID", "-p", "1,2", "--ref", "a:b", "--per-object");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_every_option),
		cmocka_unit_test(test_stack_options),
		cmocka_unit_test(test_trace_options),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_budget_goes_with),
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_scan_refusals),
		cmocka_unit_test(test_report_options),
		cmocka_unit_test(test_single_blocks),
		cmocka_unit_test(test_probes_as_json),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_refs),
		cmocka_unit_test(test_bad_rules),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_command_mistakes),
		cmocka_unit_test(test_target_mistakes),
		cmocka_unit_test(test_missing_arguments),
		cmocka_unit_test(test_unknown_options),
		cmocka_unit_test(test_near_values),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_top_and_its_watch),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_several_processes),
		cmocka_unit_test(test_mistakes_about_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
