/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/keeper/procfs.h"

int uprobe_files_init(struct uprobe_files *f, pid_t pid)
{
	char path[64];

	*f = (struct uprobe_files){ .pid = pid, .mem = -1, .maps = PROCMAPS_INIT };
	f->mem = procfs_open_mem(pid);
	if (f->mem < 0)
		return f->mem;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return procmaps_read(path, &f->maps);
}

void uprobe_files_fini(struct uprobe_files *f)
{
	if (f->mem >= 0)
		close(f->mem);
	procmaps_fini(&f->maps);
}

int uprobe_files_find(const struct uprobe_files *f, const struct site *s, const struct mapping **m, uint64_t *offset)
{
	uint8_t now[SITE_BYTES];
	/* the instruction that is replaced: behind it may be a probe of ours already */
	const size_t n = s->emu.len && s->emu.len < s->nbytes ? s->emu.len : s->nbytes;

	*m = procmaps_find(&f->maps, s->addr);
	if (!*m || !(*m)->ino || !((*m)->perms & MAPPING_EXEC))
		return -ENOEXEC;
	if ((*m)->perms & MAPPING_SHARED)
		return -ETXTBSY;
	if (pread(f->mem, now, n, (off_t)s->addr) != (ssize_t)n || memcmp(now, s->bytes, n) != 0)
		return -EILSEQ;
	*offset = s->addr - (*m)->lo + (*m)->offset;
	return 0;
}

bool uprobe_files_has(int fd, const struct site *s, uint64_t offset)
{
	uint8_t code[SITE_BYTES];

	return pread(fd, code, s->nbytes, (off_t)offset) == s->nbytes && !memcmp(code, s->bytes, s->nbytes);
}
