/* SPDX-License-Identifier: MIT */
/*
 * text_builds: the builds of files that have frames without a function's name. "svc+0x18c8" says something
 * only together with them:
 *
 *	  build id  c56d0f2a9d2d3f5b7c1f1f1e2d3c4b5a69788796 routecache
 *	  no names  before the next watch install the debug files of these builds, ...
 */
#ifndef MM_TEXT_BUILDS_H
#define MM_TEXT_BUILDS_H

#include "base/strbuf.h"
#include "report/model/summary.h"

/* Lines of the account, at most five builds: those of the first groups; and where names come from. */
void text_builds(struct strbuf *sb, const struct summary *s);

#endif
