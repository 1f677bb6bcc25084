/* SPDX-License-Identifier: MIT */
/*
 * heaptrack_traces: the tables of a heaptrack file: strings, code addresses, and the tree of stacks, whose nodes
 * begin at the outermost caller. Each record is appended when it is first needed, as the format wants it.
 */
#ifndef MM_HEAPTRACK_TRACES_H
#define MM_HEAPTRACK_TRACES_H

#include <stdint.h>

#include "base/strbuf.h"
#include "report/export/numbering.h"
#include "report/model/stack.h"

struct heaptrack_traces {
	struct strbuf *sb;
	struct numbering strings, addresses, nodes;
};

void heaptrack_traces_init(struct heaptrack_traces *t, struct strbuf *sb);
int heaptrack_traces_fini(struct heaptrack_traces *t);	/* 0 or -ENOMEM: something is missing */

/* The number of the node of @stack's leaf; its records are in the file. */
uint32_t heaptrack_trace(struct heaptrack_traces *t, const struct stack_view *stack);

#endif
