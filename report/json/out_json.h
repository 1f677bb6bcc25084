/* SPDX-License-Identifier: MIT */
/*
 * out_json: reports as JSON, as the tables of report/fields have them: a contract with other programs, which
 * doc/json.md describes.
 */
#ifndef MM_OUT_JSON_H
#define MM_OUT_JSON_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/diff/diff.h"
#include "report/model/scan.h"
#include "report/model/summary.h"

struct json_frames;

/*
 * Append the report, all of it whatever @top is. 0 or -ENOMEM, the latter also if what is to be printed is
 * incomplete.
 */
must_check int out_json(const struct summary *s, size_t top, struct strbuf *sb);
must_check int out_diff_json(const struct diff *d, size_t top, struct strbuf *sb);
must_check int out_scan_json(const struct scan_report *r, size_t top, struct strbuf *sb);

/* The same without the brace at the end, for a page, which adds more members, and has each frame once. */
void json_summary(const struct summary *s, struct json_frames *frames, struct strbuf *sb);
void json_diff(const struct diff *d, struct json_frames *frames, struct strbuf *sb);
void json_scan(const struct scan_report *r, struct json_frames *frames, struct strbuf *sb);

#endif
