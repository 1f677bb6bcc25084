/* SPDX-License-Identifier: MIT */
/*
 * uprobe_lease: probes that go by themselves if mmattach does not go on.
 *
 * Probes that are made for a moment, and whose cost is watched, must not stay while mmattach is stopped (SIGSTOP), or
 * gets no processor for seconds. So a child of ours makes them, and has their file descriptors alone. It ends, and the
 * kernel takes the probes out, when it is asked to, when mmattach has ended, or when the lease was not renewed in time.
 */
#ifndef MM_UPROBE_LEASE_H
#define MM_UPROBE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct uprobe;

struct uprobe_lease {
	pid_t child;		/* 0: there is none */
	int renew;		/* written to; its end is the child's, too */
};

/*
 * A child makes probes at @sites[0..n), as uprobe_plant, and keeps them. It ends if the lease is not renewed within
 * @lease_ns. 0 or -errno; results in shared->plant_result.
 */
must_check int uprobe_lease_begin(struct uprobe_lease *l, struct uprobe *u, const uint32_t *sites, size_t n,
				  uint64_t lease_ns);

/* false: the probes are out, as it was not renewed in time, or the child was killed. */
bool uprobe_lease_renew(struct uprobe_lease *l);

/*
 * The probes are out when this returns. false: they may have been out before, as it was not renewed in time, or the child
 * was killed. Without a lease it does nothing.
 */
bool uprobe_lease_end(struct uprobe_lease *l);

#endif
