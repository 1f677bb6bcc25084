/* SPDX-License-Identifier: MIT */
/* symtab: which symbol is found for an address, and that none is for its neighbour. */
#include "symbolize/files/symtab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "symbolize/files/elffile.h"
#include "tests/unit/elf_example.h"

#define FUNC(name, value, size, binding) { name, value, size, STB_##binding, STT_FUNC }
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct open_table {
	struct elffile file;
	struct symtab *t;
};

static struct open_table open_example(const struct example *e)
{
	struct open_table o;

	assert_int_equal(elffile_open(example_build(e), &o.file), 0);
	assert_int_equal(symtab_new(o.file.elf, NULL, &o.t), 0);
	return o;
}

static void close_example(struct open_table *o)
{
	symtab_free(o->t);
	elffile_close(&o->file);
}

static void check(const struct open_table *o, taddr addr, const char *name)
{
	const char *found = symtab_find(o->t, addr);

	if (name && found)
		assert_string_equal(found, name);
	else if (name || found)
		fail_msg("0x%lx: %s, not %s", addr, found ? found : "nothing", name ? name : "nothing");
}

static void only_inside(void **state)
{
	static const struct example_symbol symbols[] = {
		FUNC("first", 0x1000, 0x10, GLOBAL),	  FUNC("second", 0x1020, 0x10, LOCAL),
		FUNC("", 0x1040, 0x10, GLOBAL),		  { "data", 0x1050, 0x10, STB_GLOBAL, STT_OBJECT },
		FUNC("past", 0x1ff0, UINT64_MAX, GLOBAL),
	};
	struct open_table o =
		open_example(&(struct example){ .symbols = symbols, .nsymbols = COUNT(symbols) });

	(void)state;
	check(&o, 0, NULL);
	check(&o, 0xfff, NULL);
	check(&o, 0x1000, "first");
	check(&o, 0x100f, "first");
	check(&o, 0x1010, NULL);
	check(&o, 0x102f, "second");
	check(&o, 0x1030, NULL);
	check(&o, 0x1048, NULL);
	check(&o, 0x1058, NULL);
	check(&o, 0x1ff1, "past");
	close_example(&o);
}

static void of_several(void **state)
{
	static const struct example_symbol symbols[] = {
		FUNC("weak", 0x1000, 0x10, WEAK),     FUNC("local", 0x1000, 0x10, LOCAL),
		FUNC("global", 0x1000, 0x10, GLOBAL), FUNC("again", 0x1000, 0x10, GLOBAL),
		FUNC("outer", 0x1100, 0x100, GLOBAL), FUNC("inner", 0x1140, 0x10, GLOBAL),
		FUNC("hidden", 0x1160, 0x10, LOCAL),  FUNC("large", 0x1300, 0x20, GLOBAL),
		FUNC("small", 0x1300, 0x10, GLOBAL),
	};
	struct open_table o =
		open_example(&(struct example){ .symbols = symbols, .nsymbols = COUNT(symbols) });

	(void)state;
	check(&o, 0x1008, "global");
	check(&o, 0x1139, "outer");
	check(&o, 0x1140, "inner");
	check(&o, 0x1150, "outer");
	check(&o, 0x1168, "outer");
	check(&o, 0x11ff, "outer");
	check(&o, 0x1308, "small");
	check(&o, 0x1318, "large");
	close_example(&o);
}

static void without_size(void **state)
{
	static const struct example_symbol symbols[] = {
		FUNC("assembly", 0x1000, 0, GLOBAL), { "label", 0x1008, 0, STB_LOCAL, STT_NOTYPE },
		FUNC("next", 0x1010, 0x10, GLOBAL),  FUNC("inside", 0x1018, 0, GLOBAL),
		FUNC("behind", 0x1020, 0, LOCAL),    { "marker", 0x1040, 0, STB_GLOBAL, STT_NOTYPE },
		FUNC("last", 0x1f00, 0, GLOBAL),
	};
	struct open_table o =
		open_example(&(struct example){ .symbols = symbols, .nsymbols = COUNT(symbols) });

	(void)state;
	check(&o, 0x1000, "assembly");
	check(&o, 0x100f, "assembly");
	check(&o, 0x1010, "next");
	check(&o, 0x101f, "next");
	check(&o, 0x1020, "behind");
	check(&o, 0x103f, "behind");
	check(&o, 0x1050, "marker");
	check(&o, 0x1fff, "last");
	check(&o, 0x2000, NULL);
	close_example(&o);
}

/* .eh_frame_hdr at 0x3000 and .eh_frame at 0x4000 with two functions: 0x1010 to 0x1020, 0x1040 to 0x1050. */
static const struct { uint8_t form[4]; int32_t frame, count; int32_t table[4]; } frame_table = {
	{ 1, 0x1b, 0x03, 0x3b }, 0, 2, { 0x1010 - 0x3000, 0x1000, 0x1040 - 0x3000, 0x1018 },
};
static const int32_t frames[] = {
	20, 0, 0x1010 - 0x4008, 0x10, 0, 0,
	20, 0, 0x1040 - 0x4020, 0x10, 0, 0,
};

static void without_size_not_for_others(void **state)
{
	static const struct example_symbol symbols[] = {
		FUNC("before", 0x1000, 0, GLOBAL), FUNC("unwound", 0x1040, 0, GLOBAL),
	};
	const struct example_section sections[] = {
		{ ".eh_frame_hdr", 0x3000, &frame_table, sizeof(frame_table) },
		{ ".eh_frame", 0x4000, frames, sizeof(frames) },
	};
	struct open_table o = open_example(&(struct example){
		.symbols = symbols, .nsymbols = COUNT(symbols), .sections = sections,
		.nsections = COUNT(sections),
	});

	(void)state;
	check(&o, 0x100f, "before");
	check(&o, 0x1010, NULL);
	check(&o, 0x1030, NULL);
	check(&o, 0x1048, "unwound");
	check(&o, 0x1050, NULL);
	close_example(&o);
}

static void without_symbols(void **state)
{
	static const uint8_t garbage[] = { 0xfd, '7', 'z', 'X', 'Z', 0, 1, 2, 3 };
	const struct example_section sections[] = { { ".gnu_debugdata", 0, garbage, sizeof(garbage) } };
	struct open_table o = open_example(&(struct example){ .sections = sections, .nsections = 1 });

	(void)state;
	check(&o, 0x1000, NULL);
	close_example(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_inside),
		cmocka_unit_test(of_several),
		cmocka_unit_test(without_size),
		cmocka_unit_test(without_size_not_for_others),
		cmocka_unit_test(without_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
