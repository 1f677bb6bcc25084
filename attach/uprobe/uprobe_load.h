/* SPDX-License-Identifier: MIT */
/*
 * uprobe_load: the BPF programs (uprobe.bpf.c) into the kernel, those that a way takes. If the kernel's verifier
 * refuses one, the reason is what it said last, and not that a right is missing, though the error is the same.
 */
#ifndef MM_UPROBE_LOAD_H
#define MM_UPROBE_LOAD_H

#include <stddef.h>

#include "attach/uprobe/uprobe_kernel.h"
#include "base/cleanup.h"

struct bpf_object;

/* What programs and links are made for; newer than the headers of Debian 12. */
#define UPROBE_ATTACH_MULTI 48
#define UPROBE_ATTACH_SESSION 57

/* 0: @out is the caller's, bpf_object__close. -errno: the reason is in @why; the verifier's last lines are logged. */
must_check int uprobe_load(const struct uprobe_settings *set, enum uprobe_way way, struct bpf_object **out, char *why,
			   size_t n);

/*
 * What of @text, a message of the loader's, names the refusal: the line before the last of the verifier's log, behind
 * the name of the program. false: it is no such message. For tests.
 */
bool uprobe_load_refusal(const char *text, char *out, size_t n);

/* Their descriptors stay the object's. */
int uprobe_load_program(const struct bpf_object *o, const char *name);
int uprobe_load_map(const struct bpf_object *o, const char *name);

#endif
