/* SPDX-License-Identifier: MIT */
/*
 * trap_copy: which traps a forked copy of the memory has, depending on when it was made, and that cleaning
 * lifts them all. The copy itself checks its page.
 */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/unit/trap_page.h"

#define MANY 64

/* A child with a copy of the page; on order it compares the copy with the file, and exits with the result. */
static pid_t fork_copy(int *go)
{
	int order[2];
	pid_t child;

	assert_int_equal(pipe(order), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		char c;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(order[1]);
		if (read(order[0], &c, 1) != 1)
			_exit(3);
		_exit(memcmp(page, file, PAGE) == 0 ? 0 : 1);
	}
	close(order[0]);
	*go = order[1];
	return child;
}

static int verdict(pid_t child, int go)
{
	int status;

	assert_int_equal(write(go, "x", 1), 1);
	close(go);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int clean(pid_t child)
{
	int its = procfs_open_mem(child), r;

	assert_true(its >= 0);
	r = trap_clean_copy(&traps, its);
	close(its);
	return r;
}

static void a_copy_is_cleaned(void **state)
{
	uint32_t learned[MANY];
	pid_t child;
	int go;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		learned[i] = 64 + 3 * i;
		assert_int_equal(plant(i, learned[i], 16), 0);
	}
	child = fork_copy(&go);
	assert_int_equal(verdict(child, go), 1); /* without cleaning: traps in it */
	child = fork_copy(&go);
	assert_int_equal(clean(child), 0);
	assert_page(file, learned, MANY); /* ours are still planted */
	assert_int_equal(traps.all[0].state, TRAP_PLANTED);
	assert_int_equal(verdict(child, go), 0);
}

/* Copied before we lifted, cleaned after: the copy still has the traps. */
static void a_copy_made_before_lifting(void **state)
{
	pid_t child;
	int go;

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(plant(i, 64 + 3 * i, 16), 0);
	child = fork_copy(&go);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	assert_int_equal(clean(child), 0);
	assert_int_equal(verdict(child, go), 0);
}

/* Copied before we planted: it has no traps, and cleaning writes nothing. */
static void a_copy_made_before_planting(void **state)
{
	pid_t child;
	int go;

	(void)state;
	child = fork_copy(&go);
	assert_int_equal(plant(0, 64, 16), 0);
	assert_int_equal(clean(child), 0);
	assert_int_equal(verdict(child, go), 0);
}

/*
 * Copied; and first cleaned after the traps were forgotten and their numbers given to others, again and
 * again.
 */
static void a_copy_made_before_their_numbers_were_others(void **state)
{
	pid_t child;
	int go;

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(plant(i, 100 + 20 * i, 16), 0);
	child = fork_copy(&go);
	for (uint32_t one_iteration = 1; one_iteration < 4; one_iteration++)
		for (uint32_t i = 0; i < 8; i++) {
			trap_forget(&traps, mem, i, 1);
			assert_int_equal(plant(i, 1000 * one_iteration + 20 * i, 16), 0);
		}
	assert_int_equal(clean(child), 0);
	assert_int_equal(verdict(child, go), 0);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	assert_page(file, NULL, 0);
}

/* All but one page of their code was unmapped before the copy was made. */
static void a_copy_where_little_is_mapped(void **state)
{
	uint8_t *high = page + PAGE;

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(plant(i, 100 + 20 * i, 16), 0);
	for (uint32_t i = 0; i < 8; i++) {
		trap_forget(&traps, mem, i, 1);
		assert_int_equal(plant(i, 1000 + 20 * i, 16), 0);
	}
	/* a trap as it is in a copy, on the page that is left; the other page cannot be read */
	assert_int_equal(pwrite(mem, &(uint8_t){ INT3 }, 1, (off_t)at(160)), 1);
	traps.gone[0].site.addr = (taddr)(uintptr_t)high;
	traps.gone[5].site.addr = (taddr)(uintptr_t)high + 50;
	assert_int_equal(munmap(high, PAGE), 0);
	assert_int_equal(trap_clean_copy(&traps, mem), 0);
	assert_page(file, NULL, 0);
	assert_ptr_equal(mmap(high, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), high);
}

/* The same with an instruction in padding, right behind the trap. */
static void a_copy_with_a_step_of_one_that_is_gone(void **state)
{
	struct site s = site_at(300, 16);
	pid_t child;
	int go;

	(void)state;
	s.emu = (struct emu){ .op = EMU_NONE, .len = 8 };
	s.scratch = at(301);
	s.step_len = 15;
	memcpy(s.scratch_bytes, file + 301, 15);
	memset(s.step, 0x90, 15);
	assert_int_equal(trap_plant(&traps, mem, 0, &s), 0);
	assert_true(trap_prepare_step(&traps, mem, 0));
	child = fork_copy(&go);
	assert_int_equal(trap_lift_all(&traps, mem), 0);
	map_page(file); /* unmapped, and other code is mapped there */
	trap_forget(&traps, mem, 0, 1);
	assert_int_equal(plant(0, 2000, 16), 0);
	/* an int3 of the copy may be ours at either address */
	assert_true(trap_was_ever_at(&traps, at(300)) && trap_was_ever_at(&traps, at(2000)));
	assert_false(trap_was_ever_at(&traps, at(301)));
	assert_int_equal(clean(child), 0);
	assert_int_equal(verdict(child, go), 0);
}

/*
 * Without memory to read, the instruction is known only if no other code was ever there: the copy may have
 * either.
 */
static void what_a_copy_has_there(void **state)
{
	struct site s = site_at(300, 16);

	(void)state;
	assert_null(trap_only_code_at(&traps, at(300)));
	assert_int_equal(plant(0, 300, 16), 0);
	assert_ptr_equal(trap_only_code_at(&traps, at(300)), &traps.all[0].site);
	/* unloaded, and loaded again */
	trap_forget(&traps, mem, 0, 1);
	assert_non_null(trap_only_code_at(&traps, at(300)));
	assert_int_equal(plant(1, 300, 16), 0);
	assert_non_null(trap_only_code_at(&traps, at(300)));
	/* another trap in its place: refused, it was never written; planted, it was */
	trap_forget(&traps, mem, 1, 1);
	s.bytes[1] ^= 1;
	assert_int_equal(trap_plant(&traps, mem, 2, &s), -EILSEQ);
	assert_ptr_equal(trap_only_code_at(&traps, at(300)), &traps.all[0].site);
	trap_forget(&traps, mem, 2, 1);
	assert_int_equal(pwrite(mem, &s.bytes[1], 1, (off_t)at(301)), 1);
	assert_int_equal(trap_plant(&traps, mem, 3, &s), 0);
	assert_null(trap_only_code_at(&traps, at(300)));
	assert_true(trap_was_ever_at(&traps, at(300)));
	/* once old traps were dropped from the list, one of them may have been there */
	assert_int_equal(plant(4, 200, 16), 0);
	assert_non_null(trap_only_code_at(&traps, at(200)));
	traps.ngone = SHARED_SITES + 1;
	assert_null(trap_only_code_at(&traps, at(200)));
}

/* A table that is copied over a larger one: what was in that has no number, and can be planted. */
static void a_table_over_a_larger_one(void **state)
{
	static struct traps of_copy;

	(void)state;
	memset(&of_copy, 0, sizeof(of_copy));
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(plant(i, 100 + 20 * i, 16), 0);
	trap_copy_table(&of_copy, &traps);
	trap_forget(&traps, mem, 0, 8);
	memset(&traps, 0, sizeof(traps));
	assert_int_equal(plant(0, 100, 16), 0);
	trap_copy_table(&of_copy, &traps);
	assert_int_equal(of_copy.bound, 1);
	for (uint32_t i = 1; i < 8; i++) {
		const struct site s = site_at(100 + 20 * i, 16);

		assert_int_equal(of_copy.all[i].state, TRAP_NONE);
		assert_int_equal(trap_find(&of_copy, s.addr), NO_TRAP);
		assert_int_equal(trap_plant(&of_copy, mem, i, &s), 0);
	}
	assert_int_equal(trap_lift_all(&of_copy, mem), 0);
	assert_page(file, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_copy_is_cleaned, setup),
		cmocka_unit_test_setup(a_copy_made_before_lifting, setup),
		cmocka_unit_test_setup(a_copy_made_before_planting, setup),
		cmocka_unit_test_setup(a_copy_made_before_their_numbers_were_others, setup),
		cmocka_unit_test_setup(a_copy_where_little_is_mapped, setup),
		cmocka_unit_test_setup(a_copy_with_a_step_of_one_that_is_gone, setup),
		cmocka_unit_test_setup(what_a_copy_has_there, setup),
		cmocka_unit_test_setup(a_table_over_a_larger_one, setup),
	};

	return cmocka_run_group_tests(tests, open_page, close_page);
}
