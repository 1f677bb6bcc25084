/* SPDX-License-Identifier: MIT */
#include "attach/reporting/reporting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/reporting/report_filters.h"
#include "base/log.h"
#include "base/pager.h"
#include "base/statusline.h"
#include "base/terminal.h"
#include "report/account.h"
#include "report/model/unseen_allocs.h"
#include "report/text/groups/wrap.h"

/* --- opening --- */

typedef int select_add(struct select *s, const char *regex, char *why, size_t why_size);

#define NARROWEST 60u	/* columns: in a terminal that has less its lines are broken by it */
#define WIDEST WRAP_ROW_WIDTH	/* no row of a table needs more */

static int add_regexes(struct reporting *r, const struct option_list *list, select_add *add,
		       const char *option)
{
	char why[200];
	int err = 0;

	for (size_t i = 0; i < list->n && err == 0; i++) {
		err = add(r->select, list->all[i], why, sizeof(why));
		if (err == -EINVAL)
			log_error("%s '%s': %s", option, list->all[i], why);
		else if (err < 0)
			log_error_errno(err, "%s '%s'", option, list->all[i]);
	}
	return err;
}

static int read_suppressions(struct reporting *r)
{
	const struct option_list *files = &r->opt->shown.suppressions;
	char why[512];
	int err = 0;

	for (size_t i = 0; i < files->n && err == 0; i++) {
		err = suppressions_read(r->suppressions, files->all[i], why, sizeof(why));
		if (err < 0)
			log_error("--suppressions: %s", err == -ENOMEM ? strerror(ENOMEM) : why);
	}
	return err;
}

static int open_filters(struct reporting *r)
{
	int err = select_new(&r->select);

	if (err == 0)
		err = suppressions_new(&r->suppressions);
	if (err == 0)
		err = report_families_open(r->opt, &r->families);
	if (err < 0) {
		log_error_errno(err, "cannot begin");
		return err;
	}
	err = add_regexes(r, &r->opt->shown.focus, select_focus, "--focus");
	if (err == 0)
		err = add_regexes(r, &r->opt->shown.ignore, select_ignore, "--ignore");
	return err < 0 ? err : read_suppressions(r);
}

int reporting_open(struct reporting *r, const struct options *opt, const char *path)
{
	int err;

	const struct lookup_question question = {
		.entry = opt->single.block_entry, .family = opt->single.block_family,
		.addrs = opt->single.block_at, .naddrs = opt->single.nblock_at,
	};
	*r = (struct reporting){ .opt = opt, .path = path, .file = OUTFILE_INIT };
	lookup_init(&r->lookup, &question);
	err = open_filters(r);
	if (err < 0 || !path)
		return err;
	err = outfile_open(&r->file, path);
	if (err < 0)
		log_error_errno(err, "cannot write the report to %s", path);
	return err;
}

void reporting_close(struct reporting *r)
{
	outfile_abort(&r->file);
	select_free(r->select);
	suppressions_free(r->suppressions);
	report_families_close(&r->families);
	lookup_fini(&r->lookup);
	r->select = NULL;
	r->suppressions = NULL;
}

/* --- the report --- */

static bool is_colored_terminal(void)
{
	const char *no_color = getenv("NO_COLOR");

	return terminal_is_capable(STDOUT_FILENO) && !(no_color && *no_color);
}

bool reporting_color(const struct reporting *r)
{
	const enum color_wish wish = r->opt->shown.color;

	return !r->path && (wish == COLOR_ALWAYS || (wish == COLOR_AUTO && is_colored_terminal()));
}

unsigned reporting_columns(const struct reporting *r)
{
	unsigned columns;

	if (r->path || !isatty(STDOUT_FILENO))
		return 0;
	columns = terminal_columns(STDOUT_FILENO);
	return columns < NARROWEST ? NARROWEST : columns < WIDEST ? columns : 0;
}

void reporting_look_up(struct reporting *r, const taddr *addrs, size_t n)
{
	r->lookup.question.addrs = addrs;
	r->lookup.question.naddrs = n;
}

/* Are the answers printed instead of the report? */
static bool answers_only(const struct reporting *r)
{
	return r->opt->single.block_entry || r->opt->single.nblock_at;
}

void reporting_name_filters(const struct reporting *r, struct summary *s)
{
	cleanup_strbuf struct strbuf filters = STRBUF_INIT;

	report_filters_text(r->opt, &filters);
	if (strbuf_error(&filters) && !s->err)
		s->err = strbuf_error(&filters);
	s->filters = filters.len ? summary_string(s, strbuf_str(&filters)) : NULL;
}

int reporting_summary(struct reporting *r, struct ledger *l, struct summary *out)
{
	const struct groups_options groups = {
		.older_than_us = r->opt->shown.older_than_ns / 1000, .min_bytes = r->opt->shown.min_bytes,
		.show = r->opt->shown.verdicts, .select = r->select,
		.suppressions = r->suppressions, .keep_wrappers = r->opt->shown.keep_wrappers,
		.per_object = r->opt->shown.per_object, .freed = r->opt->format->has_freed,
		.families = r->families.names, .nfamilies = r->families.n,
		.lookup = r->lookup.question.entry || r->lookup.question.naddrs ? &r->lookup : NULL,
	};
	int err;

	report_families_check(&r->families, l);
	if (r->opt->shown.verdicts && !ledger_has_verdicts(l))
		log_warn("--show: there are no verdicts, so everything is shown");
	err = account_summary(l, &groups, out);
	if (err < 0)
		log_error_errno(err, "cannot make the report");
	reporting_name_filters(r, out);
	if (err == 0 && r->lookup.why[0]) {
		log_error("--block-list %lu: %s%s%s", r->opt->single.block_entry, r->lookup.why,
			  out->filters ? ", with " : "", out->filters ? out->filters : "");
		err = -ENOENT;
	}
	if (!answers_only(r))
		out->lookup = NULL;
	out->by_process = r->opt->shown.by_process;
	out->round = r->round;
	out->color = reporting_color(r);
	out->columns = reporting_columns(r);
	r->reported = out->ntwice;
	for (size_t i = 0; i < out->ngroups; i++)
		r->reported += summary_group_suspect(&out->groups[i]);
	for (size_t i = 0; i < out->nrefs; i++)
		r->reported += summary_refs_suspect(&out->refs[i]);
	/* that nothing was found means nothing then */
	r->reported += unseen_allocs_any(&out->run);
	return err;
}

static void put_suppression(struct strbuf *sb, const struct stack_view *stack, enum suppress_kind kind,
			    enum verdict verdict, size_t number)
{
	suppressions_generate(stack->frames, stack->depth, kind, verdict, number, sb);
}

static void put_suppressions(const struct summary *s, struct strbuf *sb)
{
	size_t number = 1;

	for (size_t i = 0; i < s->ngroups; i++)
		if (!s->groups[i].sampled || summary_group_suspect(&s->groups[i]))
			put_suppression(sb, &s->groups[i].stack, SUPPRESS_LEAK, s->groups[i].verdict,
					number++);
	for (size_t i = 0; i < s->nrefs; i++)
		if (s->refs[i].nacquired && summary_refs_suspect(&s->refs[i]))
			put_suppression(sb, &s->refs[i].acquired[0].stack, SUPPRESS_LEAK, VERDICT_UNKNOWN,
					number++);
	for (size_t i = 0; i < s->ntwice; i++)
		if (s->twice[i].second.depth)
			put_suppression(sb, &s->twice[i].second, SUPPRESS_FREE, VERDICT_UNKNOWN, number++);
}

static int put_report(const struct reporting *r, const struct summary *s, struct strbuf *sb)
{
	int err = r->opt->format->watch(s, r->opt->shown.top, sb);

	if (err == 0 && r->opt->shown.gen_suppressions) {
		put_suppressions(s, sb);
		err = strbuf_error(sb);
	}
	return err;
}

static bool may_page(const struct reporting *r)
{
	return r->is_last && !r->path && !r->opt->no_pager && report_format_for_people(r->opt->format);
}

int reporting_print_text(struct reporting *r, const char *text, size_t n)
{
	int err;

	statusline_erase();
	if (may_page(r) && pager_show(text, n))
		return 0;
	err = write_full(r->path ? r->file.fd : STDOUT_FILENO, text, n);

	if (err == 0 && r->path)
		err = outfile_commit(&r->file);
	if (err < 0)
		log_error_errno(err, "cannot write the report%s%s", r->path ? " to " : "",
				r->path ? r->path : "");
	return err;
}

int reporting_print(struct reporting *r, const struct summary *s, const char *behind)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	int err = put_report(r, s, &sb);

	strbuf_puts(&sb, behind);
	if (err == 0)
		err = strbuf_error(&sb);
	if (err == 0)
		return reporting_print_text(r, strbuf_str(&sb), sb.len);
	log_error_errno(err, "cannot make the report");
	return err;
}

/* Readable for all: a collector of metrics runs as another user. */
static int write_metrics(const char *path, const struct strbuf *sb)
{
	struct outfile file;
	int err = outfile_open(&file, path);

	if (err < 0)
		return err;
	err = write_full(file.fd, strbuf_str(sb), sb->len);
	if (err == 0 && file.temp && fchmod(file.fd, 0644) < 0)
		err = -errno;
	if (err < 0)
		outfile_abort(&file);
	return err < 0 ? err : outfile_commit(&file);
}

static int cannot_write_metrics(const char *path, int err)
{
	log_error_errno(err, "cannot write the metrics to %s", path);
	return err;
}

/*
 * What a symbolic link points to would be written in place, so a collector might read a part of it; and to try
 * that would empty it.
 */
int reporting_check_metrics(const char *path)
{
	struct outfile file;
	struct stat st;
	int err;

	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		log_error("cannot write the metrics to %s: it is not a regular file", path);
		log_hint("the file is replaced as a whole each time; give its own name, also for a link");
		return -EINVAL;
	}
	err = outfile_open(&file, path);
	if (err < 0)
		return cannot_write_metrics(path, err);
	outfile_abort(&file);
	return 0;
}

int reporting_metrics(const struct reporting *r, const struct summary *s)
{
	const char *path = r->opt->metrics;
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	int err;

	if (!path)
		return 0;
	err = report_format_openmetrics.watch(s, 0, &sb);
	if (err == 0)
		err = write_metrics(path, &sb);
	return err < 0 ? cannot_write_metrics(path, err) : 0;
}

int reporting_status(const struct reporting *r)
{
	return r->reported ? r->opt->error_exitcode : 0;
}
