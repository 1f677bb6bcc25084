/* SPDX-License-Identifier: MIT */
#include "base/closefds.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

void closefds_but(int *fds, size_t n)
{
	unsigned from = 0;

	qsort(fds, n, sizeof(*fds), compare);
	for (size_t i = 0; i < n; i++) {
		if ((unsigned)fds[i] > from)
			(void)!syscall(SYS_close_range, from, (unsigned)fds[i] - 1, 0);
		from = (unsigned)fds[i] + 1;
	}
	(void)!syscall(SYS_close_range, from, ~0u, 0);
}
