/* SPDX-License-Identifier: MIT */
/* room: what the kernel's files say of memory, and that a process as small as this has room for a copy. */
#include "attach/room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void fields(void **state)
{
	const char *text = "VmRSS:\t  12 kB\nRssAnon:\t     340 kB\nRssAnonymous: 1 kB\nHuge: 99999999999999999999 kB\nBad: x kB";
	uint64_t bytes = 7;

	(void)state;
	assert_true(room_find(text, "RssAnon", &bytes));
	assert_int_equal(bytes, 340 << 10);
	assert_true(room_find(text, "VmRSS", &bytes));
	assert_int_equal(bytes, 12 << 10);
	assert_false(room_find(text, "Rss", &bytes));
	assert_false(room_find(text, "Huge", &bytes));
	assert_false(room_find(text, "Bad", &bytes));
	assert_false(room_find("", "Bad", &bytes));
}

static void for_ourselves(void **state)
{
	struct room room;

	(void)state;
	assert_true(room_for_copy(getpid(), &room));
	assert_true(room.needed > 0 && room.available >= room.needed);
}

/* What cannot be told is no reason to refuse. */
static void for_nobody(void **state)
{
	struct room room;

	(void)state;
	assert_true(room_for_copy(0x7fffffff, &room));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),
		cmocka_unit_test(for_ourselves),
		cmocka_unit_test(for_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
