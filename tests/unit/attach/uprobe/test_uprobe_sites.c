/* SPDX-License-Identifier: MIT */
/*
 * uprobe_sites: which sites count as planted when the kernel refuses something. Of uprobe_kernel and
 * uprobe_files there is what is asked for here; all sites are in one file.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "attach/target/modfile.h"
#include "attach/uprobe/uprobe_files.h"
#include "attach/uprobe/uprobe_parts.h"
#include "attach/uprobe/uprobe_sample.h"

#define N 5u

static struct uprobe u;
static uint32_t undescribed, unprobed, other_code;	/* bits of sites that are refused so */
static uint32_t described, probed;

int uprobe_kernel_set_site(struct uprobe_kernel *k, uint32_t n, const struct uprobe_site *site)
{
	(void)k;
	(void)site;
	if (undescribed & 1u << n)
		return -E2BIG;
	described |= 1u << n;
	return 0;
}

int uprobe_kernel_attach(struct uprobe_kernel *k, const struct uprobe_file *file, const struct uprobe_place *places,
			 size_t n, struct uprobe_links *links)
{
	(void)k;
	(void)file;
	(void)links;
	for (size_t i = 0; i < n; i++)
		if (unprobed & 1u << places[i].site)
			return -EBUSY;
	for (size_t i = 0; i < n; i++)
		probed |= 1u << places[i].site;
	return 0;
}

void uprobe_links_cut(struct uprobe_links *links, size_t n)
{
	(void)links;
	(void)n;
}

void uprobe_links_close(struct uprobe_links *links)
{
	(void)links;
}

int uprobe_sample_choice(const struct rule *r, struct uprobe_choice *out)
{
	(void)r;
	(void)out;
	return -EINVAL;
}

int uprobe_files_init(struct uprobe_files *f, pid_t pid, bool inherits)
{
	*f = (struct uprobe_files){ .pid = pid, .inherits = inherits };
	return 0;
}

void uprobe_files_fini(struct uprobe_files *f)
{
	(void)f;
}

int uprobe_files_find(const struct uprobe_files *f, const struct site *s, const struct mapping **m, uint64_t *offset)
{
	static char path[] = "a file";
	static struct mapping only = { .path = path };

	(void)f;
	*m = &only;
	*offset = s->addr;
	return 0;
}

bool uprobe_files_same(const struct uprobe_files *f, int fd, const struct site *s, uint64_t offset)
{
	(void)f;
	(void)fd;
	(void)s;
	return !(other_code & 1u << offset);
}

bool uprobe_files_has_trap(const struct uprobe_files *f, const struct site *s)
{
	(void)f;
	(void)s;
	return false;
}

int modfile_open(pid_t pid, const struct mapping *map, const char *path)
{
	(void)pid;
	(void)map;
	(void)path;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int setup(void **state)
{
	(void)state;
	memset(&u, 0, sizeof(u));
	memset(u.group_of, 0xff, sizeof(u.group_of));
	u.shared = mmap(NULL, sizeof(*u.shared), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(u.shared, MAP_FAILED);
	for (uint32_t i = 0; i < N; i++)
		u.shared->sites[i].addr = i;
	undescribed = unprobed = other_code = described = probed = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(u.shared, sizeof(*u.shared));
}

static void plant(void)
{
	const uint32_t sites[N] = { 0, 1, 2, 3, 4 };

	assert_int_equal(uprobe_plant(&u, sites, N), 0);
	/* none is probed of which the programs do not know */
	assert_int_equal(probed & ~described, 0);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(u.shared->plant_result[i] == 0, !!(probed & 1u << i));
}

static void all(void **state)
{
	(void)state;
	plant();
	assert_int_equal(probed, 0x1f);
}

/* One that the programs cannot know of: the others are probed, behind it, too. */
static void one_that_cannot_be_described(void **state)
{
	(void)state;
	undescribed = 1u << 1;
	plant();
	assert_int_equal(probed, 0x1d);
	assert_int_equal(u.shared->plant_result[1], -E2BIG);
}

static void one_of_each(void **state)
{
	(void)state;
	undescribed = 1u << 1;
	unprobed = 1u << 2;
	other_code = 1u << 3;
	plant();
	assert_int_equal(probed, 0x11);
	assert_int_equal(u.shared->plant_result[1], -E2BIG);
	assert_int_equal(u.shared->plant_result[2], -EBUSY);
	assert_int_equal(u.shared->plant_result[3], -EILSEQ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all, setup, teardown),
		cmocka_unit_test_setup_teardown(one_that_cannot_be_described, setup, teardown),
		cmocka_unit_test_setup_teardown(one_of_each, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
