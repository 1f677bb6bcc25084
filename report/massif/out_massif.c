/* SPDX-License-Identifier: MIT */
/* out_massif: see out_massif.h. */
#include "report/massif/out_massif.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/version.h"
#include "report/export/export.h"
#include "report/formats.h"
#include "report/massif/massif_tree.h"

#define RULE "#-----------\n"

struct snapshots {
	const struct summary *summary;
	double *times;			/* ascending, the last is the end of the watch */
	size_t n;
	uint64_t *bytes;		/* at each of them */
	uint64_t *of_groups;		/* by index of the group, at one of them */
};

static int compare_times(const void *pa, const void *pb)
{
	const double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

static bool is_timed(const struct summary *s)
{
	return s->run.seconds > 0 && isfinite(s->run.seconds) && !summary_is_sampled(&s->run);
}

/* All points of all series within the watch, each once. */
static int find_times(struct snapshots *sn)
{
	const struct summary *s = sn->summary;
	size_t n = 1;

	for (size_t i = 0; is_timed(s) && i < s->ngroups; i++)
		n += s->groups[i].npoints;
	sn->times = calloc(n, sizeof(*sn->times));
	if (!sn->times)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; is_timed(s) && i < s->ngroups; i++)
		for (size_t k = 0; k < s->groups[i].npoints; k++)
			if (s->groups[i].series[k].seconds >= 0 && s->groups[i].series[k].seconds < s->run.seconds)
				sn->times[n++] = s->groups[i].series[k].seconds;
	qsort(sn->times, n, sizeof(*sn->times), compare_times);
	for (size_t i = 0; i < n; i++)
		if (!sn->n || sn->times[i] > sn->times[sn->n - 1])
			sn->times[sn->n++] = sn->times[i];
	sn->times[sn->n++] = s->run.seconds > 0 && isfinite(s->run.seconds) ? s->run.seconds : 0;
	return 0;
}

/* Live bytes of a group at snapshot @at: those of its last point until then; at the end, its own. */
static uint64_t bytes_at(const struct snapshots *sn, const struct summary_group *g, size_t at)
{
	uint64_t bytes = 0;

	if (at + 1 == sn->n)
		return export_values(sn->summary, g).of[EXPORT_LIVE_BYTES];
	for (size_t i = 0; i < g->npoints && g->series[i].seconds <= sn->times[at]; i++)
		bytes = g->series[i].bytes;
	return bytes;
}

static uint64_t fill(struct snapshots *sn, size_t at)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < sn->summary->ngroups; i++) {
		sn->of_groups[i] = bytes_at(sn, &sn->summary->groups[i], at);
		sum += sn->of_groups[i];
	}
	return sum;
}

static int make(const struct summary *s, struct snapshots *sn)
{
	int r;

	*sn = (struct snapshots){ .summary = s, .of_groups = calloc(s->ngroups + 1, sizeof(*sn->of_groups)) };
	r = sn->of_groups ? find_times(sn) : -ENOMEM;
	if (r < 0)
		return r;
	sn->bytes = calloc(sn->n, sizeof(*sn->bytes));
	if (!sn->bytes)
		return -ENOMEM;
	for (size_t at = 0; at < sn->n; at++)
		sn->bytes[at] = fill(sn, at);
	return 0;
}

static size_t peak_of(const struct snapshots *sn)
{
	size_t peak = 0;

	for (size_t i = 1; i < sn->n; i++)
		if (sn->bytes[i] >= sn->bytes[peak])
			peak = i;
	return peak;
}

static int put_snapshot(struct snapshots *sn, const struct massif_stacks *stacks, size_t at, bool peak,
			struct strbuf *sb)
{
	strbuf_printf(sb, RULE "snapshot=%zu\n" RULE "time=%.0f\nmem_heap_B=%" PRIu64 "\nmem_heap_extra_B=0\n"
			  "mem_stacks_B=0\n", at, sn->times[at] * 1000, sn->bytes[at]);
	if (!peak && at + 1 < sn->n) {
		strbuf_puts(sb, "heap_tree=empty\n");
		return 0;
	}
	strbuf_puts(sb, peak ? "heap_tree=peak\n" : "heap_tree=detailed\n");
	fill(sn, at);
	return massif_tree(stacks, sn->of_groups, sn->bytes[at], sb);
}

static void put_head(const struct summary *s, struct strbuf *sb)
{
	size_t from;

	strbuf_puts(sb, "desc: mmattach " MM_VERSION "\n");
	if (summary_is_sampled(&s->run))
		strbuf_puts(sb, "desc: sampled, what is estimated to stay\n");
	if (s->run.sample_bytes)
		strbuf_puts(sb, "desc: estimated from a sample of blocks\n");
	strbuf_puts(sb, "cmd: ");
	from = sb->len;
	export_command(sb, s);
	massif_no_comment(sb, from);
	strbuf_puts(sb, "\ntime_unit: ms\n");
}

int out_massif(const struct summary *s, size_t top, struct strbuf *sb)
{
	struct snapshots sn = { 0 };
	struct massif_stacks stacks;
	size_t peak;
	int r;

	(void)top;
	if (summary_error(s))
		return summary_error(s);
	r = massif_stacks_make(s, &stacks);
	if (r == 0)
		r = make(s, &sn);
	if (r == 0) {
		put_head(s, sb);
		peak = peak_of(&sn);
		for (size_t at = 0; at < sn.n && r == 0; at++)
			r = put_snapshot(&sn, &stacks, at, at == peak, sb);
	}
	massif_stacks_free(&stacks);
	free(sn.times);
	free(sn.bytes);
	free(sn.of_groups);
	return r ? r : strbuf_error(sb);
}

const struct report_format report_format_massif = {
	.name = "massif", .what = "for ms_print and massif-visualizer",
	.watch = out_massif, .has_freed = true,
	.why_not = "it shows bytes over the time of one watch",
};
