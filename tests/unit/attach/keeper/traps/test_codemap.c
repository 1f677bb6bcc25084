/* SPDX-License-Identifier: MIT */
/* codemap: private code, and what is mapped where code was. On memory of our own. */
#include "attach/keeper/traps/codemap.h"

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

static enum codemap after(int protection, int how)
{
	assert_ptr_equal(mmap(place, PAGE, protection, how | MAP_FIXED, file, 0), place);
	return codemap_at(maps, (taddr)(uintptr_t)place + 100);
}

static void what_is_mapped(void **state)
{
	(void)state;
	place = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE, file, 0);
	assert_ptr_not_equal(place, MAP_FAILED);
	if (codemap_at(maps, (taddr)(uintptr_t)place) == CODEMAP_CODE)
		skip(); /* the kernel does not support this query */
	assert_int_equal(after(PROT_READ | PROT_EXEC, MAP_PRIVATE), CODEMAP_CODE);
	assert_int_equal(after(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE), CODEMAP_CODE);
	assert_int_equal(after(PROT_READ, MAP_PRIVATE), CODEMAP_OTHER);
	assert_int_equal(after(PROT_READ | PROT_WRITE, MAP_PRIVATE), CODEMAP_OTHER);
	assert_int_equal(after(PROT_READ | PROT_WRITE, MAP_SHARED), CODEMAP_OTHER);
	assert_int_equal(after(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED), CODEMAP_SHARED);
	assert_int_equal(after(PROT_READ | PROT_EXEC, MAP_SHARED), CODEMAP_SHARED);
	assert_int_equal(munmap(place, PAGE), 0);
	assert_int_equal(codemap_at(maps, (taddr)(uintptr_t)place + 100), CODEMAP_OTHER);
	assert_int_equal(codemap_at(maps, (taddr)(uintptr_t)what_is_mapped), CODEMAP_CODE);
}

static void no_file_to_ask(void **state)
{
	(void)state;
	assert_int_equal(codemap_at(0, 4096), CODEMAP_CODE);
	assert_int_equal(codemap_at(-1, 4096), CODEMAP_CODE);
	assert_int_equal(codemap_at(file, 4096), CODEMAP_CODE); /* not a list of mappings */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_mapped), cmocka_unit_test(no_file_to_ask),
	};
	char name[] = "/tmp/codemapXXXXXX";

	maps = open("/proc/self/maps", O_RDONLY);
	file = mkstemp(name);
	unlink(name);
	if (maps < 0 || file < 0 || ftruncate(file, PAGE))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
