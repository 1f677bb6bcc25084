/* SPDX-License-Identifier: MIT */
/* json_format: the JSON reports, as report/formats.h needs them. */
#include "report/formats.h"
#include "report/json/out_diff_json.h"
#include "report/json/out_json.h"
#include "report/json/out_scan_json.h"

const struct report_format report_format_json = {
	.name = "json", .watch = out_json, .diff = out_diff_json, .scan = out_scan_json, .has_singles = true,
};
