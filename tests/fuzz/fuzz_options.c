/* SPDX-License-Identifier: MIT */
/* options: one argument a line. A refusal always has a reason, and accepted options always name a target. */
#include "attach/options/option_many.h"
#include "attach/options/options.h"

#include <errno.h>

#include "tests/fuzz/fuzz.h"

#define ARGS 64

static void check(const struct options *o)
{
	promised(o->stacks.bytes <= OPTIONS_STACK_BYTES_MAX && o->max_stall_ns);
	/* options before --help are not checked as a whole */
	if (o->command >= COMMAND_HELP)
		return;
	promised(o->command != COMMAND_WATCH ||
		 !!o->pid + !!o->name + !!o->program + option_many_groups(o) == 1);
	promised(o->command != COMMAND_REPAIR || o->pid > 0);
	promised(o->command != COMMAND_REPORT || o->files.n);
	promised(o->command != COMMAND_DIFF || o->files.n == 2);
	promised((o->command != COMMAND_SHRINK && o->command != COMMAND_IMPORT) || (o->files.n && o->output));
	promised(o->command != COMMAND_IMPORT || o->import);
	promised(o->command != COMMAND_SCAN || !!o->pid + !!o->name + !!o->core == 1);
	promised(o->command == COMMAND_SCAN || (!o->core && !o->exe));
	promised(o->command == COMMAND_SCAN || o->command == COMMAND_WATCH || !o->single.nwho_points_at);
	promised(o->command == COMMAND_SCAN || o->command == COMMAND_WATCH || o->command == COMMAND_REPORT ||
		 !o->shown.verdicts);
	promised(o->single.block_entry || !o->single.block_family);
	promised(o->command == COMMAND_REPORT || (!o->single.block_entry && !o->single.nblock_at));
	promised(o->pid >= 0 && (!o->program || *o->program));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = fuzz_text(data, size);
	char *argv[ARGS + 1] = { "mmattach" }, *rest = text;
	struct usage_error err;
	struct options o;
	int argc = 1, ret;

	while (text && argc < ARGS && (argv[argc] = strsep(&rest, "\n")))
		argc++;
	argv[argc] = NULL;
	ret = options_parse(argc, argv, &o, &err);
	promised(ret == 0 || ret == -EINVAL || ret == -ENOMEM);
	promised(ret != -EINVAL || *err.text);
	if (ret == 0)
		check(&o);
	options_fini(&o);
	return 0;
}
