/* SPDX-License-Identifier: MIT */
#include "report/text/groups/text_label.h"

void text_label(struct strbuf *sb, const char *name)
{
	strbuf_printf(sb, "  %-9s ", name);
}

void text_label_line(struct strbuf *sb, const char *name, const char *text)
{
	text_label(sb, name);
	strbuf_text(sb, text);
	strbuf_putc(sb, '\n');
}
