/* SPDX-License-Identifier: MIT */
/* diagnose: made-up targets, made-up circumstances, and the messages for them. */
#include "attach/target/diagnose.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* An ordinary service of user 1000, and ourselves as that user, with nothing in our way. */
static const struct target_info ordinary = {
	.pid = 1234, .asked = 1234, .comm = "svc", .state = 'S', .uid = 1000, .euid = 1000, .threads = 3,
	.bits = 64,
};
static const struct diagnose_self user = { .pid = 99, .euid = 1000 };
static const struct diagnose_self root = { .pid = 99, .euid = 0, .cap_sys_ptrace = true,
					   .cap_dac_override = true };

static void expect(const struct diagnosis *d, const char *text, const char *hint)
{
	if (!strstr(d->text, text))
		fail_msg("'%s' not in '%s'", text, d->text);
	if (!strstr(d->hint, hint))
		fail_msg("'%s' not in '%s'", hint, d->hint);
	if (!*hint && *d->hint)
		fail_msg("a hint: '%s'", d->hint);
}

static void expect_before(struct target_info t, const char *text, const char *hint)
{
	struct diagnosis d;

	assert_true(diagnose_before(&t, &user, &d));
	expect(&d, text, hint);
	/* After a failure the same facts give the same message, whatever errno was. */
	diagnose_attach(&t, &user, EPERM, &d);
	expect(&d, text, hint);
}

static void expect_eperm(struct target_info t, struct diagnose_self self, const char *text, const char *hint)
{
	struct diagnosis d;

	assert_false(diagnose_before(&t, &self, &d));
	diagnose_attach(&t, &self, -EPERM, &d);
	expect(&d, "cannot attach to 1234 (svc): not permitted: ", hint);
	expect(&d, text, hint);
}

static void test_lookup(void **state)
{
	struct diagnosis d;

	(void)state;
	diagnose_lookup(4711, NULL, -ESRCH, NULL, &d);
	expect(&d, "no such process: 4711", "-n NAME");
	diagnose_lookup(4711, NULL, -EACCES, NULL, &d);
	expect(&d, "hidepid", "as root");
	diagnose_lookup(0, "svc", -ENOENT, NULL, &d);
	expect(&d, "no process is called svc", "-p PID");
	diagnose_lookup(0, "svc", -EEXIST, "   1  svc\n   2  svc -x\n", &d);
	expect(&d, "several processes are called svc", "-p PID");
	assert_string_equal(d.listing, "   1  svc\n   2  svc -x\n");
	diagnose_lookup(4711, NULL, -ENOMEM, NULL, &d);
	expect(&d, "process 4711: Cannot allocate memory", "");
}

static void test_ordinary_is_fine(void **state)
{
	struct diagnosis d;

	(void)state;
	assert_false(diagnose_before(&ordinary, &user, &d));
}

static void test_not_a_program(void **state)
{
	struct target_info t = ordinary;

	(void)state;
	t.kernel_thread = true;
	expect_before(t, "cannot attach to 1234 (svc): it is a kernel thread", "only programs");
	t = ordinary;
	t.state = 'Z';
	expect_before(t, "a zombie", "parent");
	t = ordinary;
	t.bits = 32;
	expect_before(t, "32-bit", "64-bit x86");
}

static void test_ourselves(void **state)
{
	struct target_info t = ordinary;
	struct diagnose_self self = user;
	struct diagnosis d;

	(void)state;
	self.pid = 1234;
	assert_true(diagnose_before(&t, &self, &d));
	expect(&d, "mmattach itself", "");
	self.pid = 99;
	self.keeper = 1234;
	assert_true(diagnose_before(&t, &self, &d));
	expect(&d, "mmattach itself", "");
	snprintf(t.comm, sizeof(t.comm), "mm-keeper");
	expect_before(t, "keeper of another mmattach", "stop");
}

static void test_traced(void **state)
{
	struct target_info t = ordinary;

	(void)state;
	t.tracer_pid = 55;
	snprintf(t.tracer_comm, sizeof(t.tracer_comm), "gdb");
	expect_before(t, "traced already, by process 55 (gdb)", "detach first");
	t.tracer_comm[0] = '\0';
	expect_before(t, "traced already, by process 55 (not visible from here)", "detach first");
	snprintf(t.tracer_comm, sizeof(t.tracer_comm), "mm-keeper");
	expect_before(t, "another mmattach watches it already (its keeper is process 55)", "Ctrl-C");
}

/* A debugger may stay beside the kernel's probes; another keeper has the same places. */
static void test_traced_by_another_program(void **state)
{
	struct target_info t = ordinary;
	struct diagnosis d;

	(void)state;
	t.tracer_pid = 55;
	assert_true(diagnose_before(&t, &user, &d));
	assert_true(d.other_tracer);
	diagnose_add_hint(&d, "two");
	expect(&d, "traced already", "must detach first; or two");
	snprintf(t.tracer_comm, sizeof(t.tracer_comm), "mm-keeper");
	assert_true(diagnose_before(&t, &user, &d));
	assert_false(d.other_tracer);
}

static void test_own_sigtrap(void **state)
{
	struct target_info t = ordinary;
	struct diagnosis d;

	(void)state;
	assert_false(diagnose_sigtrap(&t, true, &d));
	t.sigtrap_caught = true;
	assert_true(diagnose_sigtrap(&t, true, &d));
	expect(&d, "it handles SIGTRAP", "--engine uprobe watches it without SIGTRAP; or, if it does not need");
	assert_string_equal(d.harm, "could remove its handler of SIGTRAP");
	assert_true(diagnose_sigtrap(&t, false, &d));
	assert_null(strstr(d.hint, "uprobe"));
	t.sigtrap_ignored = true;
	assert_true(diagnose_sigtrap(&t, false, &d));
	expect(&d, "it ignores SIGTRAP", "--lose-sigtrap");
	assert_string_equal(d.harm, "could end that it ignores SIGTRAP");
}

static void test_other_user(void **state)
{
	struct target_info t = ordinary;
	struct diagnose_self self = user;

	(void)state;
	t.uid = t.euid = 0;
	expect_eperm(t, user, "it belongs to user root", "as root, or as that user");
	t.uid = t.euid = 3999999999u;
	expect_eperm(t, user, "it belongs to user 3999999999", "as root, or as that user");
	/* yama is not the reason for what is forbidden anyway. */
	self.yama_scope = 1;
	expect_eperm(t, self, "it belongs to user", "as root, or as that user");
}

static void test_privileged(void **state)
{
	struct target_info t = ordinary;
	struct diagnose_self self = user;

	(void)state;
	self.yama_scope = 1;
	t.euid = 0;
	expect_eperm(t, self, "more privileges", "as root");
	t = ordinary;
	t.not_dumpable = true;
	expect_eperm(t, self, "more privileges", "as root");
	t = ordinary;
	t.cap_prm = 1 << 13;
	expect_eperm(t, self, "more privileges", "as root");
}

static void test_yama(void **state)
{
	struct diagnose_self self = user;

	(void)state;
	self.yama_scope = 1;
	expect_eperm(ordinary, self, "kernel.yama.ptrace_scope is 1", "sysctl -w kernel.yama.ptrace_scope=0");
	expect_eperm(ordinary, self, "ptrace_scope is 1", "mmattach -- PROGRAM");
	self.yama_scope = 2;
	expect_eperm(ordinary, self, "kernel.yama.ptrace_scope is 2", "as root");
	self = root;
	self.yama_scope = 3;
	expect_eperm(ordinary, self, "kernel.yama.ptrace_scope is 3", "reboot");
}

static void test_container(void **state)
{
	struct diagnose_self self = root;
	struct target_info t = ordinary;

	(void)state;
	self.cap_sys_ptrace = false;
	expect_eperm(ordinary, self, "without CAP_SYS_PTRACE", "docker run --cap-add SYS_PTRACE");
	/*
	 * Root without the capability is refused by yama 1 and 2 as well, but the reason is the missing
	 * capability.
	 */
	self.yama_scope = 1;
	expect_eperm(ordinary, self, "without CAP_SYS_PTRACE", "docker run --cap-add SYS_PTRACE");
	self = root;
	self.cap_dac_override = false;
	expect_eperm(ordinary, self, "/proc/1234/mem is only for user", "CAP_DAC_OVERRIDE");
	self = root;
	self.seccomp = true;
	expect_eperm(ordinary, self, "seccomp", "--cap-add SYS_PTRACE");
	t.other_user_ns = true; /* it is no obstacle for CAP_SYS_PTRACE of the one outside */
	expect_eperm(t, self, "seccomp", "--cap-add SYS_PTRACE");
	t.other_user_ns = false;
	expect_eperm(ordinary, root, "security module", "audit log");
	expect_eperm(ordinary, user, "security module", "audit log");
	t.other_user_ns = true;
	expect_eperm(t, root, "another user namespace", "on the host");
	expect_eperm(t, user, "another user namespace", "nsenter -t 1234");
}

static void test_other_failures(void **state)
{
	struct diagnosis d;

	(void)state;
	diagnose_attach(&ordinary, &user, -ESRCH, &d);
	expect(&d,
	       "cannot attach to 1234 (svc): it began to run another program while mmattach was attaching",
	       "try again");
	diagnose_attach(&ordinary, &user, ENOSYS, &d);
	expect(&d, "no ptrace", "host");
	diagnose_attach(&ordinary, &user, EIO, &d);
	expect(&d, "cannot attach to 1234 (svc): Input/output error", "");
	diagnose_vanished(&ordinary, false, &d);
	expect(&d, "it ended while mmattach was attaching", "");
}

static void test_no_allocator(void **state)
{
	struct diagnosis d;

	(void)state;
	diagnose_no_allocator(&ordinary, false, &d);
	expect(&d, "no allocator found in 1234 (svc)", "--probe 'alloc NAME size=arg1' --probe 'free NAME'");
	diagnose_no_allocator(&ordinary, true, &d);
	expect(&d, "a static program without symbols", "0xADDRESS or MODULE+0xOFFSET");
	expect(&d, "a static program without symbols", "--probe 'alloc NAME size=arg1' --probe 'free NAME'");
}

static void test_long_names_are_cut(void **state)
{
	struct target_info t = ordinary;
	char name[2000];
	struct diagnosis d;

	(void)state;
	memset(t.comm, 'c', sizeof(t.comm) - 1);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	diagnose_lookup(0, name, -ENOENT, NULL, &d);
	assert_true(strlen(d.text) < sizeof(d.text));
	diagnose_no_allocator(&t, true, &d);
	expect(&d, "a static program without symbols", "MODULE+0xOFFSET");
}

static void test_read_self(void **state)
{
	struct diagnose_self self;

	(void)state;
	diagnose_read_self(&self);
	assert_int_equal(self.pid, getpid());
	assert_int_equal(self.euid, geteuid());
	assert_true(self.yama_scope >= 0 && self.yama_scope <= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_ordinary_is_fine),
		cmocka_unit_test(test_not_a_program),
		cmocka_unit_test(test_ourselves),
		cmocka_unit_test(test_traced),
		cmocka_unit_test(test_traced_by_another_program),
		cmocka_unit_test(test_own_sigtrap),
		cmocka_unit_test(test_other_user),
		cmocka_unit_test(test_privileged),
		cmocka_unit_test(test_yama),
		cmocka_unit_test(test_container),
		cmocka_unit_test(test_other_failures),
		cmocka_unit_test(test_no_allocator),
		cmocka_unit_test(test_long_names_are_cut),
		cmocka_unit_test(test_read_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
