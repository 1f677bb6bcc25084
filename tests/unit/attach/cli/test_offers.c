/* SPDX-License-Identifier: MIT */
/* offers: what the families of the packs are, in words of users. */
#include "attach/cli/offers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "attach/options/ruleset.h"

static const struct {
	const char *family, *what;
} known[] = {
	{ "libc", "blocks of memory" },
	{ "fd", "file descriptors" },
	{ "thread", "threads" },
	{ "mmap", "mappings" },
	{ "growth", "memory that the process gets from the kernel" },
	{ "dict", "references to dicts (glusterfs)" },
	{ "gf", "blocks of memory (glusterfs)" },
	{ "gslice", "slices (glib)" },
	{ "rte_memzone", "memzones (dpdk)" },
};

static void says(const struct ruleset *rs, const char *family, const char *what)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < rs->nfamilies; i++)
		if (!strcmp(rs->families[i].name, family))
			offers_put_what(&sb, &rs->families[i]);
	assert_string_equal(strbuf_str(&sb), what);
}

static void test_what(void **state)
{
	struct ruleset rs;

	(void)state;
	assert_int_equal(ruleset_packs(&rs), 0);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		says(&rs, known[i].family, known[i].what);
	ruleset_fini(&rs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
