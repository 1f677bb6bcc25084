/* SPDX-License-Identifier: MIT */
/*
 * modules: which ELF files are mapped into the target, where, and what they are.
 *
 * Read from /proc/PID/maps: a module is a file with an executable mapping, at one load bias. The file is
 * opened when it is first seen (attach/target/modfile.h) and stays open, so that bytes and names of a module
 * can be read after it was unloaded or deleted. While it is open, its inode number cannot be reused, so
 * device and inode identify the file: if it is mapped again, it is not opened again.
 */
#ifndef MM_MODULES_H
#define MM_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "attach/probes/code/elfimage.h"
#include "base/cleanup.h"
#include "base/taddr.h"

struct mapping;

struct module {
	char *path;		/* as in /proc/PID/maps, without " (deleted)" */
	const char *name;	/* base name of path; "[vdso]" */
	taddr bias;		/* runtime address = file address + bias */
	taddr lo, hi;		/* from the first to the last mapping of the file around its code */
	dev_t dev;
	ino_t ino;
	struct elfimage *img;	/* shared by all modules of that file; NULL: could not be opened (why_not) */
	char why_not[96];
	bool unread;		/* (img NULL) its file could not be read: it may be ELF all the same */
	uint8_t build_id[32];
	size_t build_id_len;
	bool deleted;		/* the file had been deleted or replaced when it was first seen */
	bool gone;		/* no longer mapped */
	bool planned;		/* for the caller: its probes were planned; false if new or mapped again */
};

struct modules;

/*
 * The modules of @pid as they are now. 0, -ESRCH (no such process, a zombie, a kernel thread), -EACCES,
 * -ENOMEM, ...
 */
must_check int modules_new(pid_t pid, struct modules **out);
void modules_free(struct modules *ms);

/*
 * Read the mappings again. New modules are added (planned == false), unmapped ones marked gone; a file mapped
 * again elsewhere is a new module, one mapped again at its old address is the old module, neither gone nor
 * planned. 0 or -errno (-ESRCH: the target is gone); after an error everything is as before, or partly
 * updated. If @fresh (the target exec'ed), everything is forgotten first.
 */
must_check int modules_refresh(struct modules *ms, bool fresh);

size_t modules_count(const struct modules *ms);
/* In the order in which they were first seen; valid until modules_free or a fresh refresh. */
struct module *modules_at(const struct modules *ms, size_t i);

/* The module that is mapped at @addr now, else the last one that was, else NULL. */
struct module *modules_find(const struct modules *ms, taddr addr);

#define MODULE_BUILD_ID_TEXT (2 * sizeof(((struct module *)0)->build_id) + 1)

/* In lower-case hexadecimal; "" if it has none. Returns @buf. */
const char *module_build_id(const struct module *m, char buf[MODULE_BUILD_ID_TEXT]);

/*
 * From now on, these are the modules of @pid, whose memory is read through @mem (owned by the caller; -1:
 * /proc/PID/mem is opened). It may be the same process, or one forked from it: a module that is mapped there
 * in the same way stays the same module. Returns what modules_refresh does.
 */
must_check int modules_move(struct modules *ms, pid_t pid, int mem);

/* A descriptor to read the process's memory, which the caller closes; -1: it cannot be opened. */
int modules_open_mem(const struct modules *ms);

/*
 * The file of a module that is mapped as @m says, as it was opened while the process existed: a descriptor, which the
 * caller closes, or -errno. @certain: it is that file. For backing_add (heap/snapshot/backing.h); @modules is a
 * struct modules.
 */
int modules_open_file(void *modules, const struct mapping *m, bool *certain);

/* A living thread of the process. */
pid_t modules_pid(const struct modules *ms);

/* The runtime address of the module's own function @name. 0 or as elfimage_find. */
must_check int module_symbol(const struct module *m, const char *name, taddr *addr);

/*
 * true if @m contains glibc's malloc, so that the word before a block is its chunk header: libc.so.6, or a
 * static program whose .symtab has its functions. Preloading another allocator does not change libc.so.6.
 */
bool module_is_glibc(const struct module *m);

#endif
