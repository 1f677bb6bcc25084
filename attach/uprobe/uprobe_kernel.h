/* SPDX-License-Identifier: MIT */
/*
 * uprobe_kernel: what is asked of the kernel: loading the BPF programs (uprobe.bpf.c), and probes at offsets of
 * a file for one process.
 *
 *	session		one link for all sites of a file; the program decides at an entry whether its return
 *			is probed (Linux 6.13)
 *	multi		no returns, one link for all sites of a file (6.6; before 6.12 its filter takes one
 *			thread only, so that is not used)
 *	perf		a perf event for each probe, with a program attached (5.15)
 *
 * All of it is held by file descriptors: if we die, the kernel takes the probes out.
 */
#ifndef MM_UPROBE_KERNEL_H
#define MM_UPROBE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/uprobe/uprobe_hits.h"
#include "base/cleanup.h"

enum uprobe_way { UPROBE_WAY_AUTO, UPROBE_WAY_SESSION, UPROBE_WAY_MULTI, UPROBE_WAY_PERF };

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
	pid_t pid;
	uint32_t threads;		/* of it, now */
	uint32_t ring_bytes;		/* a power of two */
	bool sampled;			/* there will be an interval (uprobe_control) */
	enum uprobe_way way;		/* UPROBE_WAY_AUTO: the first one that this kernel has */
};

/* Load the programs. 0; -EPERM, -ENOSYS and others: @why is the reason, for the user. */
must_check int uprobe_kernel_open(const struct uprobe_settings *set, struct uprobe_kernel **out, char *why, size_t n);
void uprobe_kernel_close(struct uprobe_kernel *k);

/* May functions have return probes (uprobe_may_return)? */
bool uprobe_kernel_may_return(const struct uprobe_kernel *k);
enum uprobe_way uprobe_kernel_way(const struct uprobe_kernel *k);
const char *uprobe_way_name(enum uprobe_way way);	/* "uprobe session", "uprobe_multi", "perf events" */

/* The programs' global data. */
struct uprobe_control *uprobe_kernel_control(struct uprobe_kernel *k);
volatile struct uprobe_hint *uprobe_kernel_hints(struct uprobe_kernel *k);
int uprobe_kernel_ring(const struct uprobe_kernel *k);	/* the ring's file descriptor */

/* What site number @n wants. 0 or -errno. */
must_check int uprobe_kernel_set_site(struct uprobe_kernel *k, uint32_t n, const struct uprobe_site *site);

/*
 * Probe @path at @places[0..n) (sites with UPROBE_RETURNS: in a session only); the links are added to @links.
 * 0, or -errno: then those that were made stay in @links.
 */
must_check int uprobe_kernel_attach(struct uprobe_kernel *k, const char *path, const struct uprobe_place *places,
				    size_t n, struct uprobe_links *links);
void uprobe_links_cut(struct uprobe_links *links, size_t n);	/* close all but the first @n */
void uprobe_links_close(struct uprobe_links *links);

#endif
