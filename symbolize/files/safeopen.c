/* SPDX-License-Identifier: MIT */
/* safeopen: see safeopen.h. openat2(2) has no wrapper in the C library. */
#include "symbolize/files/safeopen.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static int open_path(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = root < 0 ? open(path, O_PATH | O_CLOEXEC)
			  : (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int safeopen(int root, const char *path)
{
	cleanup_close int place = open_path(root, path);
	char self[40];
	struct stat st;
	int fd;

	if (place < 0)
		return place;
	if (fstat(place, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
