/* SPDX-License-Identifier: MIT */
/* json: see json.h. */
#include "report/json/json.h"

#include <inttypes.h>
#include <math.h>


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

void json_number(struct strbuf *sb, const char *separator, const char *name, uint64_t value)
{
	json_key(sb, separator, name);
	strbuf_printf(sb, "%" PRIu64, value);
}

void json_real(struct strbuf *sb, const char *separator, const char *name, double value)
{
	json_key(sb, separator, name);
	strbuf_printf(sb, "%.6f", isfinite(value) ? value : 0.0);
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
