/* SPDX-License-Identifier: MIT */
/*
 * json_lookup: single blocks that were asked for (report/query/lookup.h), as members of the JSON report:
 *
 *	"block_list_of": {family, entry, groups: [index]},
 *	"block_list":    [{address, bytes, age_s}], of objects [{address, net, age_s}]; oldest first
 *	"block_at":      [{address, released_twice_s,
 *	                   blocks: [{family, noun, address, bytes, offset, age_s, entry, group, wrappers,
 *	                             stack_end, stack}],
 *	                   objects: [{family, noun, net, older, counted, age_s, entry, group,
 *	                              uses: [{taken, dropped, wrappers, stack_end, stack}]}]}]
 *
 * Each is present only if it was asked for. entry: the number of the group in the text report, within its
 * family; groups, group: the indices in "groups", or for objects in "refs", from 0. Both are null if the
 * report leaves the block out. released_twice_s is null if no block at that address is known to be freed
 * twice.
 */
#ifndef MM_JSON_LOOKUP_H
#define MM_JSON_LOOKUP_H

#include "base/strbuf.h"
#include "report/json/json_frames.h"
#include "report/model/summary.h"

/* Append the members, each with a comma before it; nothing if nothing was asked. */
void json_lookup(const struct summary *s, struct json_frames *frames, struct strbuf *sb);

#endif
