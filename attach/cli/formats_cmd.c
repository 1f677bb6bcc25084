/* SPDX-License-Identifier: MIT */
#include "attach/cli/formats_cmd.h"

#include "attach/cli/probes_json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "report/csv/out_csv.h"
#include "report/fields/fields.h"
#include "report/formats.h"
#include "report/json/json_schema.h"

static int describe(enum formats_kind kind, struct strbuf *sb)
{
	static const struct fields *const roots[] = { &fields_report, &fields_diff, &fields_probes };
	const size_t n = sizeof(roots) / sizeof(*roots);

	switch (kind) {
	case FORMATS_JSON: return json_describe(sb, roots, n);
	case FORMATS_CSV: return out_csv_describe(sb);
	case FORMATS_SCHEMA: return json_schema(sb, roots, n);
	default: report_formats_describe(sb); return strbuf_error(sb);
	}
}

int formats_cmd(enum formats_kind kind, FILE *out)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	if (describe(kind, &sb) < 0) {
		log_error("not enough memory for the description of formats");
		return 1;
	}
	fwrite(sb.s, 1, sb.len, out);
	return 0;
}
