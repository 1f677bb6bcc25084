/* SPDX-License-Identifier: MIT */
/*
 * uprobe_kernel: what is asked of the kernel: the BPF programs (uprobe.bpf.c), and probes at offsets of a file for one
 * process.
 *
 * uprobe_ways.h has the ways in which that is done. All of it is held by file descriptors: if we die, the kernel takes
 * the probes out.
 */
#ifndef MM_UPROBE_KERNEL_H
#define MM_UPROBE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/uprobe/uprobe_hits.h"
#include "attach/uprobe/uprobe_ways.h"
#include "base/cleanup.h"

struct uprobe_place {
	uint64_t offset;		/* in the file */
	uint32_t site;			/* its number */
	uint32_t generation;
};

/* The file descriptors of some probes. */
struct uprobe_links {
	int *fds;
	size_t n, room;
};

struct uprobe_kernel;

struct uprobe_settings {
	pid_t pid;			/* the target */
	uint32_t threads;		/* of it, now */
	uint32_t ring_bytes;		/* a power of two */
	bool sampled;			/* there will be an interval (uprobe_control) */
	enum uprobe_way way;		/* UPROBE_WAY_AUTO: the first one that this kernel has */
};

/*
 * Load the programs. Nothing is probed, and no process is followed yet. 0; -EOPNOTSUPP: the kernel lacks the way;
 * -ENOSYS: it lacks all; -EBADE: it would not run them right; -EPERM and others: @why is the reason, for the user; ""
 * if it is the error alone.
 */
must_check int uprobe_kernel_open(const struct uprobe_settings *set, struct uprobe_kernel **out, char *why, size_t n);

/* The numbers of processes and threads are those of this PID namespace, and not of the first one. */
void uprobe_kernel_number_in(struct uprobe_kernel *k, uint64_t device, uint64_t inode);

/* Follow what becomes of the process: its threads, what it executes, children in its memory. 0 or -errno. */
must_check int uprobe_kernel_watch(struct uprobe_kernel *k);
void uprobe_kernel_close(struct uprobe_kernel *k);

/* May functions have return probes (uprobe_may_return)? */
bool uprobe_kernel_may_return(const struct uprobe_kernel *k);
enum uprobe_way uprobe_kernel_way(const struct uprobe_kernel *k);

/* The programs' global data. */
struct uprobe_control *uprobe_kernel_control(struct uprobe_kernel *k);
volatile struct uprobe_hint *uprobe_kernel_hints(struct uprobe_kernel *k);
int uprobe_kernel_ring(const struct uprobe_kernel *k);	/* the ring's file descriptor */

/* How often the programs at probes ran, and made no record, so far: the sum of all processors. 0 or -errno. */
must_check int uprobe_kernel_counts(const struct uprobe_kernel *k, struct uprobe_counts *out);

/* What site number @n wants. 0 or -errno. */
must_check int uprobe_kernel_set_site(struct uprobe_kernel *k, uint32_t n, const struct uprobe_site *site);

/* A file, by a path of ours, as it is mapped in a process. */
struct uprobe_file {
	pid_t pid;
	const char *path;
};

/*
 * Probe @file at @places[0..n) (sites with UPROBE_RETURNS: in a session only); the links are added to @links.
 * 0, or -errno: then those that were made stay in @links.
 */
must_check int uprobe_kernel_attach(struct uprobe_kernel *k, const struct uprobe_file *file,
				    const struct uprobe_place *places, size_t n, struct uprobe_links *links);
void uprobe_links_cut(struct uprobe_links *links, size_t n);	/* close all but the first @n */
void uprobe_links_close(struct uprobe_links *links);

#endif
