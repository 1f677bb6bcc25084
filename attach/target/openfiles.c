/* SPDX-License-Identifier: MIT */
#include "attach/target/openfiles.h"

#include <errno.h>

#include "base/log.h"

void openfiles_raise(struct rlimit *before)
{
	struct rlimit now, most;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0)
		return;
	if (before)
		*before = now;
	most = (struct rlimit){ now.rlim_max, now.rlim_max };
	if (now.rlim_cur < now.rlim_max && setrlimit(RLIMIT_NOFILE, &most) < 0)
		log_verbose("no more than %llu files may be open: error %d", (unsigned long long)now.rlim_cur,
			    errno);
}

void openfiles_restore(const struct rlimit *before)
{
	if (before->rlim_max)
		(void)!setrlimit(RLIMIT_NOFILE, before);
}
