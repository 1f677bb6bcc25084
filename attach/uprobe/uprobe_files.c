/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/keeper/procfs.h"
#include "attach/target/modfile.h"
#include "base/cleanup.h"

#define INT3 0xcc

int uprobe_files_init(struct uprobe_files *f, pid_t pid, bool inherits)
{
	char path[64];

	*f = (struct uprobe_files){ .pid = pid, .mem = -1, .maps = PROCMAPS_INIT, .inherits = inherits };
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
	*m = procmaps_find(&f->maps, s->addr);
	if (!*m || !(*m)->ino || !((*m)->perms & MAPPING_EXEC))
		return -ENOEXEC;
	if ((*m)->perms & MAPPING_SHARED)
		return -ETXTBSY;
	*offset = s->addr - (*m)->lo + (*m)->offset;
	return 0;
}

/*
 * Is there a probe for all processes (as bpftrace makes them)? The kernel puts its int3 into each mapping of the file,
 * also into one of ours.
 */
static bool is_probed_for_all(int fd, uint64_t offset)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = offset / page * page;
	const uint8_t *code = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)begin);
	bool is;

	if (code == MAP_FAILED)
		return false;
	is = code[offset - begin] == INT3;
	munmap((void *)(uintptr_t)code, page);
	return is;
}

bool uprobe_files_has_trap(const struct uprobe_files *f, const struct site *s)
{
	const struct mapping *m;
	uint64_t offset;
	uint8_t now, file;
	cleanup_close int fd = -1;

	if (uprobe_files_find(f, s, &m, &offset) < 0 || pread(f->mem, &now, 1, (off_t)s->addr) != 1 || now != INT3 ||
	    f->inherits)
		return false;
	fd = modfile_open(f->pid, m, m->path);
	return fd >= 0 && pread(fd, &file, 1, (off_t)offset) == 1 && file != INT3 && !is_probed_for_all(fd, offset);
}

bool uprobe_files_same(const struct uprobe_files *f, int fd, const struct site *s, uint64_t offset)
{
	uint8_t now[SITE_BYTES], file[SITE_BYTES];
	/* the instruction that is replaced: behind it may be a probe of ours already */
	const size_t n = s->emu.len && s->emu.len < s->nbytes ? s->emu.len : s->nbytes;

	if (pread(fd, file, s->nbytes, (off_t)offset) != s->nbytes || memcmp(file, s->bytes, s->nbytes) != 0)
		return false;
	if (pread(f->mem, now, n, (off_t)s->addr) != (ssize_t)n)
		return false;
	if (now[0] == INT3 && s->bytes[0] != INT3 && (f->inherits || is_probed_for_all(fd, offset)))
		now[0] = s->bytes[0];
	return !memcmp(now, s->bytes, n);
}
