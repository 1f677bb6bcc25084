/* SPDX-License-Identifier: MIT */
/*
 * planting: when a module is unloaded, its site numbers are given to other sites. The keeper is a thread
 * here, with the keeper's own table of traps, and the target's code is a page of our own (code_page.h).
 */
#include "attach/control/planting.h"

#include <errno.h>
#include <pthread.h>

#include "attach/keeper/traps/trap.h"
#include "tests/unit/code_page.h"

static struct link l;
static struct traps traps;
static struct planting planting;
static struct module gone, stays;
static const struct rule rule = { .op = RULE_ALLOC };
static bool unseen_allocs[1];
static pthread_t keeper;
static atomic_bool over;
static uint32_t forgotten;	/* COMMAND_FORGETs so far */

/* --- the keeper --- */

static int64_t carry_out(struct shared *sh)
{
	if (sh->op == COMMAND_FORGET) {
		forgotten++;
		trap_forget(&traps, mem, sh->arg, sh->arg2);
		return 0;
	}
	for (uint32_t i = sh->arg; i < sh->arg + sh->arg2; i++)
		sh->plant_result[i] = trap_plant(&traps, mem, i, &sh->sites[i]);
	return 0;
}

static void *keep(void *arg)
{
	struct shared *sh = arg;

	while (!atomic_load(&over)) {
		if (atomic_load(&sh->seq) == atomic_load(&sh->done)) {
			usleep(100);
			continue;
		}
		sh->result = carry_out(sh);
		atomic_store(&sh->done, atomic_load(&sh->seq));
	}
	return NULL;
}

/* --- the controller --- */

static int setup(void **state)
{
	(void)state;
	memset(&l, 0, sizeof(l));
	memset(&traps, 0, sizeof(traps));
	l.keeper_fd = -1;
	l.bell = -1;
	l.shared = mmap(NULL, sizeof(*l.shared), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(l.shared, MAP_FAILED);
	memset(&planting, 0, sizeof(planting));
	planting.link = &l;
	planting.mem = mem;
	planting.rules = &rule;
	planting.unseen_allocs = unseen_allocs;
	unseen_allocs[0] = false;
	gone = (struct module){ .name = "gone.so" };
	stays = (struct module){ .name = "stays.so" };
	forgotten = 0;
	new_file(7);
	atomic_store(&over, false);
	return pthread_create(&keeper, NULL, keep, l.shared);
}

static int teardown(void **state)
{
	(void)state;
	atomic_store(&over, true);
	pthread_join(keeper, NULL);
	return munmap(l.shared, sizeof(*l.shared));
}

static uint32_t add(struct module *m, uint32_t offset)
{
	struct site s = { .addr = at(offset), .nbytes = SITE_BYTES, .emu = { .op = EMU_NOP, .len = 1 } };
	uint32_t i;

	memcpy(s.bytes, file + offset, SITE_BYTES);
	assert_int_equal(planting_add(&planting, m, &s, &i), 0);
	return i;
}

static void assert_only_traps_at(const uint32_t *offsets, uint32_t n)
{
	uint8_t want[PAGE];

	memcpy(want, file, PAGE);
	for (uint32_t i = 0; i < n; i++)
		want[offsets[i]] = INT3;
	assert_memory_equal(page, want, PAGE);
}

/* The sites of a trial wait for up to a quarter of a second: by then their module may be unloaded. */
static void gone_while_it_waited(void **state)
{
	uint32_t first, again, other;

	(void)state;
	first = add(&gone, 100);
	gone.gone = true;
	assert_int_equal(planting_forget_gone(&planting), 0);
	again = add(&stays, 200);
	other = add(&stays, 300);
	/* otherwise the test shows nothing */
	assert_int_equal(again, first);
	assert_int_equal(planting_plant(&planting), 0);
	assert_int_equal(l.shared->plant_result[again], 0);
	assert_int_equal(l.shared->plant_result[other], 0);
	assert_true(l.planted[again] && l.planted[other]);
	assert_only_traps_at((uint32_t[]){ 200, 300 }, 2);
}

/* The number is free: nothing is planted where the module was. */
static void gone_and_nothing_came(void **state)
{
	(void)state;
	add(&gone, 100);
	add(&stays, 200);
	gone.gone = true;
	assert_int_equal(planting_forget_gone(&planting), 0);
	assert_int_equal(planting_plant(&planting), 0);
	assert_only_traps_at((uint32_t[]){ 200 }, 1);
}

/* Consecutive numbers are forgotten by one command: each makes the keeper enter all traps anew. */
static void gone_together(void **state)
{
	uint32_t last;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		add(&gone, 100 + 20 * i);
	last = add(&stays, 1000);
	for (uint32_t i = 0; i < 40; i++)
		add(&gone, 1100 + 20 * i);
	assert_int_equal(planting_plant(&planting), 0);
	gone.gone = true;
	assert_int_equal(planting_forget_gone(&planting), 0);
	assert_int_equal(forgotten, 2);
	for (uint32_t i = 0; i < l.nsites; i++) {
		assert_int_equal(l.used[i], i == last);
		assert_int_equal(l.planted[i], i == last);
	}
	/* they were lifted, since the page is still there; and the remaining trap is found */
	assert_only_traps_at((uint32_t[]){ 1000 }, 1);
	assert_int_equal(trap_find(&traps, at(1000)), last);
	assert_int_equal(trap_find(&traps, at(100)), NO_TRAP);
}

static bool is_refused(uint32_t offset)
{
	return refused_returns_has(&l.shared->refused_returns, at(offset));
}

/* A return address is asked for that has a trap; and one whose trap was refused, since its code is another one. */
static void returns_that_have_a_site(void **state)
{
	uint32_t planted, refused;

	(void)state;
	assert_int_equal(pwrite(mem, &(uint8_t){ (uint8_t)~file[205] }, 1, (off_t)at(205)), 1);
	planted = add(&stays, 100);
	refused = add(&gone, 200);
	assert_int_equal(planting_plant(&planting), 0);
	assert_true(l.planted[planted] && !l.planted[refused]);
	assert_int_equal(planting_return(&planting, at(100), planted), 0);
	assert_false(is_refused(100));
	assert_false(unseen_allocs[0]);
	assert_int_equal(planting_return(&planting, at(200), planted), -EILSEQ);
	assert_true(is_refused(200));
	/* other code may come there */
	gone.gone = true;
	assert_int_equal(planting_forget_gone(&planting), 0);
	assert_false(is_refused(200));
	assert_int_equal(planting.lost_returns, 0);
}

/* Code made at run time; and of a module that is gone, with whatever is there now. */
static void returns_to_no_module(void **state)
{
	const uint32_t entry = add(&stays, 100);

	(void)state;
	assert_int_equal(modules_new(getpid(), &planting.modules), 0);
	assert_int_equal(planting_return(&planting, at(300), entry), -ENOENT);
	assert_true(is_refused(300));
	/* what such a call allocates is not seen */
	assert_true(unseen_allocs[0]);
	planting.mem = -1;
	planting_forget_all(&planting, -1);
	assert_false(is_refused(300));
	for (size_t i = 0; i < modules_count(planting.modules); i++) {
		struct module *m = modules_at(planting.modules, i);

		m->gone = true;
		assert_int_equal(planting_return(&planting, m->lo, entry), -ENOENT);
	}
	modules_free(planting.modules);
}

/* A keeper that does not answer has refused nothing. */
static void a_return_without_an_answer(void **state)
{
	const uint32_t i = add(&stays, 100);

	(void)state;
	assert_int_equal(planting_return(&planting, at(100), i), -ETIMEDOUT);
	assert_false(is_refused(100));
	assert_int_equal(planting.lost_returns, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(gone_while_it_waited, setup, teardown),
		cmocka_unit_test_setup_teardown(gone_and_nothing_came, setup, teardown),
		cmocka_unit_test_setup_teardown(gone_together, setup, teardown),
		cmocka_unit_test_setup_teardown(returns_that_have_a_site, setup, teardown),
		cmocka_unit_test_setup_teardown(returns_to_no_module, setup, teardown),
		cmocka_unit_test_setup_teardown(a_return_without_an_answer, setup, teardown),
	};

	return cmocka_run_group_tests_name("planting", tests, open_page, close_page);
}
