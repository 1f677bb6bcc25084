/* SPDX-License-Identifier: MIT */
/*
 * json_memory: what the kernel reports of the memory of the process and of its children
 * (report/json/out_json.h has the members).
 */
#ifndef MM_JSON_MEMORY_H
#define MM_JSON_MEMORY_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void json_memory(struct strbuf *sb, const struct summary *s);

#endif
