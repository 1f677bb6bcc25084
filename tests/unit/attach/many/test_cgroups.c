/* SPDX-License-Identifier: MIT */
/* cgroups: which text of /proc/PID/cgroup belongs to a cgroup, a unit, a container. */
#include "attach/many/cgroups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static bool path(const char *wanted, const char *text)
{
	const struct cgroup_wish w = { .path = wanted };

	return cgroup_has(&w, text);
}

static bool unit(const char *wanted, const char *text)
{
	const struct cgroup_wish w = { .unit = wanted };

	return cgroup_has(&w, text);
}

static bool container(const char *wanted, const char *text)
{
	const struct cgroup_wish w = { .container = wanted };

	return cgroup_has(&w, text);
}

static void by_path(void **state)
{
	(void)state;
	assert_true(path("/a", "0::/a\n"));
	assert_true(path("/a/", "0::/a\n"));
	assert_true(path("/a", "0::/a/b\n"));
	assert_false(path("/a", "0::/ab\n"));
	assert_false(path("/a", "0::/b/a\n"));
	assert_false(path("/a/b", "0::/a\n"));
	/* version 1: one line for each controller; a path may have colons */
	assert_true(path("/d:e", "5:memory:/\n4:cpu,cpuacct:/d:e\n0::/x\n"));
	assert_false(path("/a", ""));
	assert_false(path("/a", "broken\n0:\n"));
	assert_true(path(cgroup_path("/sys/fs/cgroup/a"), "0::/a"));
}

static void by_unit(void **state)
{
	(void)state;
	assert_true(unit("nginx.service", "0::/system.slice/nginx.service\n"));
	assert_true(unit("nginx", "0::/system.slice/nginx.service\n"));
	assert_true(unit("nginx", "1:name=systemd:/system.slice/nginx.service/inner\n"));
	assert_false(unit("nginx", "0::/system.slice/nginx.socket\n"));
	assert_false(unit("nginx", "0::/system.slice/my-nginx.service\n"));
	assert_true(unit("user-1000.slice", "0::/user.slice/user-1000.slice/session-3.scope\n"));
}

static void by_container(void **state)
{
	static const char *const here[] = {
		"0::/docker/" ID "\n",
		"0::/system.slice/docker-" ID ".scope\n",
		"0::/machine.slice/libpod-" ID ".scope/container\n",
		"0::/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-" ID ".scope\n",
		"8:pids:/kubepods/burstable/pod7/" ID "\n",
		"0::/kubepods.slice/crio-" ID ".scope\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++) {
		assert_true(container("0123456789ab", here[i]));
		assert_true(container(ID, here[i]));
		assert_false(container("123456789abc", here[i]));
	}
	/* conmon is outside of the container, and a digit more or less is no id */
	assert_false(container("0123456789ab", "0::/machine.slice/libpod-conmon-" ID ".scope\n"));
	assert_false(container("0123456789ab", "0::/docker/" ID "0\n"));
	assert_false(container("0123456789ab", "0::/docker/0123456789ab\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_path),
		cmocka_unit_test(by_unit),
		cmocka_unit_test(by_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
