/* SPDX-License-Identifier: MIT */
/*
 * debugfile: where the debug information of a stripped file is, found as gdb and elfutils find it, but only
 * in the standard places:
 *
 *	/usr/lib/debug/.build-id/xx/rest.debug		by build-id
 *	FOLDER/NAME, FOLDER/.debug/NAME,		by .gnu_debuglink, NAME without '/'; FOLDER is
 *	/usr/lib/debug/FOLDER/NAME			the file's own
 *	/usr/lib/debug/.build-id/..., .../.dwz/NAME	what dwz moved out, by .gnu_debugaltlink
 *
 * Each is looked for below the target's root first, then below ours (symbolize/files/safeopen.h). The file
 * found must have the requested build-id. If a file named by a debug link has none, its checksum must match
 * the link's. NAME after .dwz/ may contain folders, but no "..".
 */
#ifndef MM_DEBUGFILE_H
#define MM_DEBUGFILE_H

#include "base/cleanup.h"
#include "symbolize/files/elffile.h"

/* Open the debug file of @elf, the ELF file at @path (NULL: it has no path). 0; -ENOENT; -ENOMEM. */
must_check int debugfile_open(Elf *elf, const char *path, int root, struct elffile *out);

/* Open the file with what dwz moved out of @elf. 0; -ENOENT, also if @elf names no such file; -ENOMEM. */
must_check int debugfile_open_alt(Elf *elf, int root, struct elffile *out);

/*
 * Open the file of @fd if it has the build-id @id. The elffile takes @fd over; it is closed on failure. 0;
 * -EINVAL, -EIO.
 */
must_check int debugfile_take(int fd, const struct build_id *id, struct elffile *out);

/* The checksum of .gnu_debuglink over all of @fd. 0 or -errno. */
must_check int debugfile_checksum(int fd, uint32_t *sum);

#endif
