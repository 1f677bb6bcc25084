/* SPDX-License-Identifier: MIT */
/*
 * elfimage, plan and callsites: a file that the target chose, read and planned on by a process that may be
 * root. It may yield nothing, or nonsense; but the keeper must be able to carry out every site that is
 * planned.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "attach/probes/callsites.h"
#include "attach/probes/code/elfimage.h"
#include "attach/probes/plan.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/pack_rules.h"

#define PLACES 8

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd >= 0 && pwrite(fd, data, size, 0) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

static void look_at(struct elfimage *img, taddr addr)
{
	struct code_range range;
	const char *name = elfimage_symbol_over(img, addr, &range);
	uint8_t code[64];

	promised(!name || (range.lo <= addr && addr < range.hi && strlen(name) < 1u << 20));
	name = elfimage_symbol_at(img, addr);
	promised(!name || strlen(name) < 1u << 20);
	promised(!elfimage_extent(img, addr, &range) || (range.lo <= addr && addr < range.hi));
	promised(elfimage_code(img, addr, code, sizeof(code)) <= sizeof(code));
	(void)elfimage_is_global(img, addr);
	(void)elfimage_slot_symbol(img, addr);
}

/* No padding is allotted twice, and all of its bytes are in the file's code. */
static void ask_for_padding(struct elfimage *img, taddr near)
{
	taddr given[PLACES];
	uint8_t code[8];

	for (int i = 0; i < PLACES; i++) {
		given[i] = elfimage_padding(img, near + i, sizeof(code));
		if (!given[i])
			return;
		promised(elfimage_code(img, given[i], code, sizeof(code)) == sizeof(code));
		for (int j = 0; j < i; j++)
			promised(given[j] != given[i]);
		promised(elfimage_padding(img, near + i, sizeof(code)) == given[i]);
	}
}

static void look_around(struct elfimage *img)
{
	static const char *const names[] = { "malloc", "free", "main" };
	uint8_t id[64];
	taddr addr;
	uint64_t size;
	bool ifunc;

	promised(elfimage_build_id(img, id, sizeof(id)) <= sizeof(id));
	promised(elfimage_build_id(img, id, 1) <= 1);
	(void)elfimage_textrel(img);
	if (elfimage_load_for_offset(img, 0, &addr))
		look_at(img, addr);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (elfimage_find(img, names[i], &addr, &size, &ifunc))
			continue;
		look_at(img, addr);
		look_at(img, addr + size);
		ask_for_padding(img, addr);
	}
	look_at(img, UINT64_MAX);
}

static void check_site(const struct site *s)
{
	promised(s->nbytes >= 1 && s->nbytes <= SITE_BYTES && s->step_len <= SITE_BYTES);
	promised(s->emu.len >= 1 && s->emu.len <= s->nbytes && s->emu.op < EMU_OPS);
	promised(s->emu.op != EMU_NONE || !s->scratch || s->step_len);
}

static void check_plan(const struct plan *p, struct decoder *d)
{
	char text[256];

	promised(p->nsites <= PLAN_SITES && memchr(p->reason, '\0', sizeof(p->reason)));
	promised((p->kind == PLAN_NONE || p->kind == PLAN_WRAPPER) == !p->nsites);
	for (size_t i = 0; i < p->nsites; i++)
		check_site(&p->sites[i]);
	promised(plan_describe(p, d, 0x1000, text, sizeof(text)) >= 0 && strlen(text) < sizeof(text));
}

/*
 * Every call site directly follows an instruction in the code, within the function that it is reported for.
 */
static void check_sites(const struct elfimage *img, const struct callsite *sites, size_t n)
{
	uint8_t code;

	for (size_t i = 0; i < n; i++) {
		promised(sites[i].target < 3 && sites[i].function < sites[i].ret &&
			 (!i || sites[i - 1].ret < sites[i].ret));
		promised(elfimage_code(img, sites[i].ret - 1, &code, 1) == 1);
	}
}

static void find_sites(struct elfimage *img)
{
	struct callsite_target targets[] = { { "malloc", 0 }, { "calloc", 0 }, { "elsewhere", 0 } };
	struct callsite *sites;
	size_t n, unsure = 0;
	uint64_t size;
	bool ifunc;

	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		if (elfimage_find(img, targets[i].name, &targets[i].addr, &size, &ifunc))
			targets[i].addr = 0;
	}
	if (callsites_find(img, targets, 3, &sites, &n, &unsure) == 0) {
		check_sites(img, sites, n);
		free(sites);
	}
	if (callsites_tails(img, targets, 3, unsure % 3, &sites, &n) == 0) {
		check_sites(img, sites, n);
		free(sites);
	}
}

/* The options depend on every byte, so that mutations try them all. */
static struct plan_options options_from(const uint8_t *data, size_t size)
{
	unsigned sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += data[i];
	return (struct plan_options){ .exact_sizes = sum & 1, .glibc_chunks = sum & 2, .shadow_stack = sum & 4 };
}

/* The same functions in two families, watched for several reasons. */
static const char others[] =
	"in malloc\n"
	"alloc malloc tag=str(*arg1)\n"
	"free malloc\n"
	"unref calloc\n"
	"in calloc\n"
	"alloc realloc size=*u16(*(arg1+8)+arg2*4)\n"
	"family other refs\n"
	"ref calloc obj=ret count=*u32(ret+8)\n"
	"from free\n"
	"unref free if=ret==0\n"
	"in free\n"
	"unref realloc by=arg2\n";

static void plan_rules(struct elfimage *img, struct decoder *d, const struct ruleset *rs,
		       const struct plan_options *opt)
{
	struct plan_set set;

	if (plan_module(img, d, rs->rules, rs->nrules, opt, &set))
		return;
	for (size_t i = 0; i < set.n; i++)
		check_plan(&set.plans[i], d);
	plan_set_fini(&set);
}

static void plan(struct elfimage *img, const struct plan_options *opt)
{
	struct ruleset libc, mixed = { 0 };
	struct rulefile_error err;
	struct decoder *d;

	if (decoder_new(&d))
		return;
	if (pack_rules("libc", &libc) == 0)
		plan_rules(img, d, &libc, opt);
	promised(ruleset_add_text(&mixed, "others", NULL, others, strlen(others), &err) == 0);
	plan_rules(img, d, &mixed, opt);
	ruleset_fini(&libc);
	ruleset_fini(&mixed);
	decoder_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct plan_options opt = options_from(data, size);
	cleanup_close int fd = file_of(data, size);
	struct elfimage *img;

	if (fd < 0 || elfimage_open(fd, "fuzz", &img))
		return 0;
	look_around(img);
	plan(img, &opt);
	find_sites(img);
	elfimage_close(img);
	return 0;
}
