/* SPDX-License-Identifier: MIT */
/*
 * out_html: a report as one page that needs no other file and no network: what a browser shows is made there,
 * by the scripts of this folder, from data in the page.
 *
 *	page.html up to the data, with page.css in it
 *	<script type="application/json" id="report"> the JSON report </script>
 *	the scripts
 *
 * The data is that of the JSON report (report/json), with three differences: stacks are lists of numbers of
 * frames (report/json/json_frames.h); there are members for what the text report says in words, or decides:
 * "answer", its first lines, "answer_growth", the rate in them, "no_growth", what stands in its place, "cost" and
 * "stopped", how much the target was stopped, in short and in lines (report/words/words_stopped.h), and "words"
 * for verdicts, growth and the like (report/words/words.h); and <, > and & are escaped, so that
 * nothing in a name of the target can end the element, or begin another one.
 *
 * The page's Content-Security-Policy allows its own style and its own script, by their hashes, and nothing
 * else: no request, no other script, whatever a name is.
 */
#ifndef MM_OUT_HTML_H
#define MM_OUT_HTML_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/diff/diff.h"
#include "report/model/scan.h"
#include "report/model/summary.h"

/* Append the page, with all groups whatever @top is. 0 or -ENOMEM. */
must_check int out_html(const struct summary *s, size_t top, struct strbuf *sb);
must_check int out_diff_html(const struct diff *d, size_t top, struct strbuf *sb);
must_check int out_scan_html(const struct scan_report *r, size_t top, struct strbuf *sb);

#endif
