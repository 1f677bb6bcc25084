/* SPDX-License-Identifier: MIT */
/* json: see json.h. */
#include "report/json/json.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "base/version.h"

void json_begin(struct strbuf *sb)
{
	strbuf_puts(sb, "{\"mmattach\": {\"version\": \"" MM_VERSION "\", \"schema\": 1}");
}

void json_key(struct strbuf *sb, const char *separator, const char *name)
{
	strbuf_puts(sb, separator);
	strbuf_json(sb, name);
	strbuf_puts(sb, ": ");
}

void json_string(struct strbuf *sb, const char *separator, const char *name, const char *value)
{
	json_key(sb, separator, name);
	strbuf_json(sb, value ? value : "");
}

void json_text(struct strbuf *sb, const char *separator, const char *name, const char *value)
{
	json_key(sb, separator, name);
	strbuf_json(sb, value);
}

void json_number(struct strbuf *sb, const char *separator, const char *name, uint64_t value)
{
	json_key(sb, separator, name);
	strbuf_printf(sb, "%" PRIu64, value);
}

void json_bool(struct strbuf *sb, const char *separator, const char *name, bool value)
{
	json_key(sb, separator, name);
	strbuf_puts(sb, value ? "true" : "false");
}

void json_signed(struct strbuf *sb, const char *separator, const char *name, int64_t value)
{
	json_key(sb, separator, name);
	strbuf_printf(sb, "%" PRId64, value);
}

void json_real(struct strbuf *sb, const char *separator, const char *name, double value)
{
	json_key(sb, separator, name);
	strbuf_printf(sb, "%.6f", isfinite(value) ? value : 0.0);
}

void json_real_or_null(struct strbuf *sb, const char *separator, const char *name, double value)
{
	if (isfinite(value))
		json_real(sb, separator, name, value);
	else
		json_text(sb, separator, name, NULL);
}

void json_address(struct strbuf *sb, const char *separator, const char *name, uint64_t value)
{
	json_key(sb, separator, name);
	strbuf_printf(sb, "\"0x%" PRIx64 "\"", value);
}

void json_sum(struct strbuf *sb, const char *separator, const char *name, const struct summary_sum *sum)
{
	json_key(sb, separator, name);
	json_number(sb, "{", "blocks", sum->blocks);
	json_number(sb, ", ", "bytes", sum->bytes);
	strbuf_putc(sb, '}');
}

void json_sums(struct strbuf *sb, const char *separator, const char *name,
	       const struct summary_sum sums[VERDICT_COUNT])
{
	json_key(sb, separator, name);
	for (size_t v = 0; v < VERDICT_COUNT; v++)
		json_sum(sb, v ? ", " : "{", verdict_name(v), &sums[v]);
	strbuf_putc(sb, '}');
}

void json_list(struct strbuf *sb, const char *separator, const char *name)
{
	json_key(sb, separator, name);
	strbuf_putc(sb, '[');
}

void json_next_line(struct strbuf *sb, size_t i, const char *indent)
{
	strbuf_puts(sb, i ? ",\n" : "\n");
	strbuf_puts(sb, indent);
}

/* Also of a negative time, which a damaged trace may have, the fraction of the second is positive. */
void json_start(struct strbuf *sb, const char *separator, int64_t start_ns)
{
	int64_t ms = start_ns / 1000000;
	time_t seconds = (ms < 0 ? ms - 999 : ms) / 1000;
	char text[64] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	json_key(sb, separator, "start");
	strbuf_printf(sb, "\"%s.%03dZ\"", text, (int)(ms - seconds * 1000));
}
