/* SPDX-License-Identifier: MIT */
/*
 * words: the words that a reader sees for a verdict, for growth, and for what becomes of sampled blocks. One
 * place, so that the text, a page and the lists for a shell say the same of the same; the names in JSON and
 * CSV stand with their enumerations (base/verdict.h, growth.h, report/sampling/survival.h). Folded stacks and
 * the text in valgrind's XML have the words: they change with them.
 */
#ifndef MM_WORDS_H
#define MM_WORDS_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "base/verdict.h"
#include "report/model/summary.h"

/*
 * As valgrind says it: "definitely lost"; "unknown" as in JSON and CSV. In a scan that has no verdicts all
 * blocks are "in use".
 */
const char *words_verdict(enum verdict v);
const char *words_verdict_of_scan(enum verdict v);

/* "levelled off": the bare word, for a list of all. */
const char *words_growth(enum growth_shape shape);
/*
 * In a table: "+15.6 MiB/min", "levelled off 40s ago"; @plain: of things, not bytes; @brief: without what can
 * be missed. At most WORDS_GROWTH_WIDTH characters.
 */
#define WORDS_GROWTH_WIDTH 23
void words_growth_cell(struct strbuf *sb, const struct summary *s, const struct growth *g, bool plain,
		       bool brief);
/* As a line: "grows by 15.6 MiB/min". */
void words_growth_line(struct strbuf *sb, const struct summary *s, const struct growth *g, bool plain);

/*
 * In the place of a rate where no group grows: "nothing", and in @more "no group grows now"; or that the
 * process has grown by something else.
 */
const char *words_no_growth(const struct summary *s, struct strbuf *more);

/* Of a watch with a budget: what becomes of the blocks: "leaks", "may leak". */
const char *words_turnover(enum survival_kind kind);
/* In a table: "378 KiB (323 KiB to 439 KiB)", which it leaks a minute; "freed: half within 1ms". */
void words_leaks_cell(struct strbuf *sb, const struct summary_group *g);

/* --- parts of these --- */

/* What is known of a group: never NULL, but it may be nothing. */
const struct summary_sample *words_sample_of(const struct summary_group *g);
void words_amount(struct strbuf *sb, double amount, bool plain);
/* "about 1.2 MiB/min (921 KiB to 1.5 MiB)"; @plain: things, not bytes. */
void words_estimate(struct strbuf *sb, const struct estimate *e, bool plain);
void words_about_seconds(struct strbuf *sb, double seconds);
bool words_mostly_freed(const struct survival *v);
bool words_rate_known(const struct summary_sample *its);

#endif
