/* SPDX-License-Identifier: MIT */
/* codemap: private code, and what is mapped where some was. On memory of our own. */
#include "attach/keeper/codemap.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096u

static int maps, file;
static void *place;

static bool after(int protection, int how)
{
	assert_ptr_equal(mmap(place, PAGE, protection, how | MAP_FIXED, file, 0), place);
	return codemap_is_code(maps, (taddr)(uintptr_t)place + 100);
}

static void what_is_mapped(void **state)
{
	(void)state;
	place = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE, file, 0);
	assert_ptr_not_equal(place, MAP_FAILED);
	if (codemap_is_code(maps, (taddr)(uintptr_t)place))
		skip(); /* a kernel that does not answer */
	assert_true(after(PROT_READ | PROT_EXEC, MAP_PRIVATE));
	assert_true(after(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE));
	assert_false(after(PROT_READ, MAP_PRIVATE));
	assert_false(after(PROT_READ | PROT_WRITE, MAP_PRIVATE));
	assert_false(after(PROT_READ | PROT_WRITE, MAP_SHARED));
	assert_false(after(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED));
	assert_int_equal(munmap(place, PAGE), 0);
	assert_false(codemap_is_code(maps, (taddr)(uintptr_t)place + 100));
	assert_true(codemap_is_code(maps, (taddr)(uintptr_t)what_is_mapped));
}

static void nobody_to_ask(void **state)
{
	(void)state;
	assert_true(codemap_is_code(0, 4096));
	assert_true(codemap_is_code(-1, 4096));
	assert_true(codemap_is_code(file, 4096)); /* no list of mappings */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_mapped), cmocka_unit_test(nobody_to_ask) };
	char name[] = "/tmp/codemapXXXXXX";

	maps = open("/proc/self/maps", O_RDONLY);
	file = mkstemp(name);
	unlink(name);
	if (maps < 0 || file < 0 || ftruncate(file, PAGE))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
