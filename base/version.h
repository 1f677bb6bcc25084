/* SPDX-License-Identifier: MIT */
/*
 * version: what --version, the reports and the traces say; and whether this program was built with the engine of the
 * kernel's probes, so that no hint names what it does not have.
 */
#ifndef MM_VERSION_H
#define MM_VERSION_H

#define MM_VERSION "0.1"

#ifndef MM_UPROBE
#define MM_UPROBE 0
#endif

#define MM_ENGINES (MM_UPROBE ? "ptrace, uprobe" : "ptrace; built without uprobe, which takes clang and libbpf-dev")

#endif
