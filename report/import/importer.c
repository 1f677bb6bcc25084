/* SPDX-License-Identifier: MIT */
/* importer: see importer.h. All facts have time 0: these files contain no times. */
#include "report/import/importer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/version.h"
#include "symbolize/demangle.h"

#define RELEASED_BYTES (256u << 20)
#define DEMANGLE_MAX 64		/* a longer name may expand to any amount of text (symbolize/demangle.h) */
#define FAMILY 1

static struct fact info(uint32_t kind)
{
	return (struct fact){ .kind = MMT_INFO, .info = kind };
}

static int take(struct importer *im, const struct fact *f)
{
	return ledger_take(im->ledger, f);
}

static int said(int r)
{
	if (r < 0)
		log_error_errno(r, "cannot import");
	return r;
}

/* --- begin --- */

static int put_run(struct importer *im)
{
	struct fact f = info(MMT_RUN);

	f.run.frontend = im->tool;
	f.run.mode = "exact";
	f.run.writer = "mmattach " MM_VERSION;
	if (getrandom(f.run.id, sizeof(f.run.id), 0) != sizeof(f.run.id))
		return -EIO;
	return take(im, &f);
}

/* The family is that of the pack "libc": the old tools watched the same functions. */
static int put_family(struct importer *im)
{
	struct fact name = info(MMT_FAMILY_NAME), now = { .kind = MMT_FAMILY, .family = FAMILY };
	int r;

	name.family_name.number = FAMILY;
	name.family_name.name = "libc";
	r = take(im, &name);
	if (r == 0)
		r = take(im, &now);
	im->family = defs_family(&im->ledger->defs, FAMILY);
	return r;
}

int importer_init(struct importer *im, struct ledger *l, const char *tool)
{
	int r;

	*im = (struct importer){ .ledger = l, .tool = tool };
	r = ledger_init(l);
	if (r == 0)
		r = released_new(RELEASED_BYTES, &im->released);
	if (r == 0)
		r = put_run(im);
	if (r == 0)
		r = put_family(im);
	return said(r);
}

void importer_fini(struct importer *im)
{
	released_free(im->released);
	im->released = NULL;
}

int importer_target(struct importer *im, int32_t pid, const char *exe)
{
	struct fact f = info(MMT_TARGET);
	const char *slash = exe ? strrchr(exe, '/') : NULL;
	char comm[16];

	snprintf(comm, sizeof(comm), "%s", slash ? slash + 1 : exe ? exe : "");
	f.target.pid = pid;
	f.target.comm = comm[0] ? comm : NULL;
	f.target.exe = exe;
	return said(take(im, &f));
}

int importer_note(struct importer *im, const char *fmt, ...)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	struct fact f = info(MMT_NOTE);
	va_list ap;

	va_start(ap, fmt);
	strbuf_vprintf(&sb, fmt, ap);
	va_end(ap);
	f.note = strbuf_str(&sb);
	return strbuf_error(&sb) ? -ENOMEM : take(im, &f);
}

/* --- definitions --- */

int importer_module(struct importer *im, taddr bias, taddr lo, taddr hi, const char *path, uint32_t *number)
{
	struct fact f = info(MMT_MODULE);

	if (im->nmodules == UINT32_MAX - 1)
		return -EOVERFLOW;
	*number = im->nmodules++;
	f.module.number = f.module.file = *number;
	f.module.bias = bias;
	f.module.lo = lo;
	f.module.hi = hi;
	f.module.path = path;
	f.module.build_id = "";
	return take(im, &f);
}

static int put_name(struct importer *im, uint32_t frame, const char *symbol)
{
	cleanup_strbuf struct strbuf readable = STRBUF_INIT;
	struct fact f = info(MMT_NAMES);
	bool mangled = strlen(symbol) <= DEMANGLE_MAX && demangle(symbol, &readable);
	const struct fact_name name = {
		.function = mangled ? strbuf_str(&readable) : symbol, .linkage = mangled ? symbol : NULL,
	};

	f.names.frame = frame;
	f.names.all = &name;
	f.names.n = 1;
	return strbuf_error(&readable) ? -ENOMEM : take(im, &f);
}

int importer_site(struct importer *im, taddr pc, uint32_t module, const char *symbol, uint32_t *stack)
{
	struct fact frame = info(MMT_FRAME), node = info(MMT_NODE), whole = info(MMT_STACK);
	uint32_t number = im->nstacks;
	int r;

	if (number == UINT32_MAX - 1)
		return -EOVERFLOW;
	frame.frame.number = number;
	frame.frame.module = module;
	frame.frame.pc = pc;
	node.node.number = number + 1;
	node.node.frame = number;
	whole.stack.number = number;
	whole.stack.node = number + 1;
	whole.stack.end = MMT_END_LOST;
	r = take(im, &frame);
	if (r == 0)
		r = take(im, &node);
	if (r == 0)
		r = take(im, &whole);
	if (r == 0 && symbol)
		r = put_name(im, number, symbol);
	*stack = number;
	im->nstacks++;
	return r;
}

/* --- events --- */

int importer_alloc(struct importer *im, taddr addr, uint64_t size, uint32_t stack)
{
	struct fact f = { .kind = MMT_ALLOC };

	f.block.addr = addr;
	f.block.size = size;
	f.block.stack = stack;
	im->allocs++;
	released_remove(im->released, addr);
	return take(im, &f);
}

/* Find out what a free of @addr means, and remember its stack. */
static void judge_release(struct importer *im, taddr addr, uint32_t stack, struct fact *f)
{
	struct released_by by = { .stack = stack + 1, .alloc = FACT_NONE }, before;
	struct live_block b;

	f->block.addr = addr;
	f->block.stack = stack + 1;
	if (ledger_holds(im->ledger, im->family, addr, &b)) {
		f->kind = MMT_FREE_AT;
		f->block.stack = stack;
		by.alloc = im->ledger->defs.stacks[b.stack].number + 1;
	} else if (released_get(im->released, addr, &before)) {
		f->kind = MMT_TWICE;
		f->block.first = before.stack;
		f->block.alloc = before.alloc;
		return;
	} else {
		f->kind = MMT_OLD;
	}
	released_put(im->released, addr, &by);
}

int importer_release(struct importer *im, taddr addr, uint32_t stack)
{
	struct fact f = { 0 };

	judge_release(im, addr, stack, &f);
	im->frees++;
	return take(im, &f);
}

/* --- end --- */

static int put_probe(struct importer *im, uint32_t number, const char *rule, const char *source,
		     uint64_t hits)
{
	struct fact probe = info(MMT_PROBE), f = info(MMT_HITS);
	int r;

	probe.probe.number = number;
	probe.probe.family = FAMILY;
	probe.probe.rule = rule;
	probe.probe.module = source;
	f.hits.probe = number;
	f.hits.hits = hits;
	r = take(im, &probe);
	return r ? r : take(im, &f);
}

static int put_events(struct importer *im)
{
	struct fact f = info(MMT_COUNT);

	f.count.which = MMT_COUNT_EVENTS;
	f.count.value = im->events;
	return take(im, &f);
}

static int put_notes(struct importer *im)
{
	uint64_t missing = im->ledger->displaced > im->late ? im->ledger->displaced - im->late : 0;
	int r = importer_note(im, "%s writes no times and one frame of each stack: all ages are 0", im->tool);

	if (r == 0 && im->failed)
		r = importer_note(im,
				  "%" PRIu64
				  " calls got no memory; a realloc among them may have left its block held",
				  im->failed);
	if (r == 0 && missing)
		r = importer_note(im,
				  "%" PRIu64
				  " blocks were given out again without a release: records are missing, "
				  "or there twice",
				  missing);
	if (r == 0 && im->bad > 1)
		r = importer_note(im, "%" PRIu64 " lines are not of %s and were left out", im->bad, im->tool);
	return r;
}

int importer_finish(struct importer *im, const char *source)
{
	struct fact end = info(MMT_END);
	int r = put_probe(im, 0, "allocations", source, im->allocs);

	if (r == 0)
		r = put_probe(im, 1, "releases", source, im->frees);
	if (r == 0)
		r = put_events(im);
	if (r == 0)
		r = put_notes(im);
	if (r == 0)
		r = take(im, &end);
	return said(r);
}
