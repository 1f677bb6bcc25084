/* SPDX-License-Identifier: MIT */
/*
 * elfimage and plan: a file that the target chose, read and planned on by a
 * process that may be root. It may give nothing, or nonsense; but every site that
 * is planned must be one that the keeper can carry out.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "attach/probes/elfimage.h"
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

/* No place is given away twice, and each is padding to the last byte. */
static void ask_for_padding(struct elfimage *img, taddr near)
{
	taddr given[PLACES];
	uint8_t code[8];

	for (int i = 0; i < PLACES; i++) {
		given[i] = elfimage_padding(img, near, sizeof(code));
		if (!given[i])
			return;
		promised(elfimage_code(img, given[i], code, sizeof(code)) == sizeof(code));
		for (int j = 0; j < i; j++)
			promised(given[j] != given[i]);
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

/* Which options depends on every byte, so that mutations try them all. */
static struct plan_options options_from(const uint8_t *data, size_t size)
{
	unsigned sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += data[i];
	return (struct plan_options){ .exact_sizes = sum & 1, .glibc_chunks = sum & 2, .shadow_stack = sum & 4 };
}

static void plan(struct elfimage *img, const struct plan_options *opt)
{
	struct decoder *d;
	struct plan_set set;
	struct ruleset rs;

	if (decoder_new(&d))
		return;
	if (pack_rules("libc", &rs) == 0 && plan_module(img, d, rs.rules, rs.nrules, opt, &set) == 0) {
		for (size_t i = 0; i < set.n; i++)
			check_plan(&set.plans[i], d);
		plan_set_fini(&set);
	}
	ruleset_fini(&rs);
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
	elfimage_close(img);
	return 0;
}
