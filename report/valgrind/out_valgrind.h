/* SPDX-License-Identifier: MIT */
/*
 * out_valgrind: a report in valgrind's XML (protocol 4, of memcheck), which continuous integration servers and
 * editors read. A group with a verdict is a leak of that kind; one without is a leak that is still reachable, and
 * its text says that there is no verdict; of a sampled run only what leaks is listed, with the bytes that are
 * estimated to stay, as possibly lost. A double free is an invalid free. References are left out.
 *
 * As in valgrind's own files, the bytes of lost blocks include what is lost with them.
 */
#ifndef MM_OUT_VALGRIND_H
#define MM_OUT_VALGRIND_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/summary.h"

must_check int out_valgrind(const struct summary *s, size_t top, struct strbuf *sb);

#endif
