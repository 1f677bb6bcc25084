/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/codemap.h"

#include <errno.h>
#include <sys/ioctl.h>

/* As in <linux/fs.h> of 6.11; older headers do not have it. */
struct query {
	uint64_t size, flags, addr;	/* what is asked */
	uint64_t start, end, vma_flags;	/* what is answered, */
	uint64_t rest[7];		/* more answers, and where names should go: nowhere */
};
#define QUERY _IOWR('f', 17, struct query)
#define QUERY_EXECUTABLE 0x04u
#define QUERY_SHARED 0x08u

_Static_assert(sizeof(struct query) == 104, "as the kernel has it");

enum codemap codemap_at(int maps, taddr addr)
{
	/* only a mapping that covers the address and is executable */
	struct query q = { .size = sizeof(q), .flags = QUERY_EXECUTABLE, .addr = addr };

	if (maps <= 0)
		return CODEMAP_CODE;
	if (ioctl(maps, QUERY, &q) < 0)
		/* the kernel does not know the call, or forbids it */
		return errno == ENOENT || errno == ESRCH ? CODEMAP_OTHER : CODEMAP_CODE;
	return q.vma_flags & QUERY_SHARED ? CODEMAP_SHARED : CODEMAP_CODE;
}
