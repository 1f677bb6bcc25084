/* SPDX-License-Identifier: MIT */
/*
 * json_processes: the processes of a merged trace, and which of them have a group. Of others nothing is
 * printed.
 */
#ifndef MM_JSON_PROCESSES_H
#define MM_JSON_PROCESSES_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void json_processes(struct strbuf *sb, const struct summary *s);
void json_shares(struct strbuf *sb, const struct summary_group *g);

#endif
