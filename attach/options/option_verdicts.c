/* SPDX-License-Identifier: MIT */
#include "attach/options/option_verdicts.h"

#include <string.h>

#include "attach/options/option_table.h"
#include "base/duration.h"

int option_verdicts(struct options *o, const char *arg, struct usage_error *err)
{
	static const char *const names[] = { [VERDICTS_AUTO] = "auto", [VERDICTS_YES] = "yes", [VERDICTS_NO] = "no" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(arg, names[i])) {
			o->verdicts = i;
			return 0;
		}
	}
	return usage_refuse(err, "--verdicts %s: it is auto, yes or no", arg);
}

int option_max_pause(struct options *o, const char *arg, struct usage_error *err)
{
	if (duration_parse(arg, &o->max_pause_ns) || !o->max_pause_ns) {
		usage_refuse(err, "--max-pause %s: it is a duration, and more than nothing", arg);
		return usage_advise(err, "for example --max-pause 200ms");
	}
	return 0;
}
