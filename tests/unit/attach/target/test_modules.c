/* SPDX-License-Identifier: MIT */
/* modules: tested on ourselves, compared with our own link map, and on children that exec and end. */
#include "attach/target/linker.h"
#include "attach/target/modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/target/modfile.h"

int exported_function(void);
int exported_function(void)
{
	return 42;
}

static const struct link_map *link_map_of(void *handle)
{
	struct link_map *lm = NULL;

	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &lm), 0);
	return lm;
}

static struct module *named(const struct modules *ms, const char *name)
{
	for (size_t i = 0; i < modules_count(ms); i++) {
		if (!strcmp(modules_at(ms, i)->name, name))
			return modules_at(ms, i);
	}
	return NULL;
}

static taddr symbol(const struct module *m, const char *name)
{
	uint64_t size;
	taddr addr;
	bool ifunc;

	assert_non_null(m->img);
	assert_int_equal(elfimage_find(m->img, name, &addr, &size, &ifunc), 0);
	return addr + m->bias;
}

/* A library that nothing else uses: libm, copied to a name of our choice in a new folder. */
struct copy {
	char folder[PATH_MAX], path[PATH_MAX + 64];
};

static void copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0700);
	struct stat st;

	assert_true(in >= 0 && out >= 0);
	assert_int_equal(fstat(in, &st), 0);
	for (off_t left = st.st_size; left > 0; ) {
		ssize_t n = sendfile(out, in, NULL, (size_t)left);

		assert_true(n > 0);
		left -= n;
	}
	close(in);
	close(out);
}

static void copy_make(struct copy *c, const char *name)
{
	void *libm = dlopen("libm.so.6", RTLD_NOW);

	assert_non_null(libm);
	snprintf(c->folder, sizeof(c->folder), "/tmp/mm modules XXXXXX");
	assert_non_null(mkdtemp(c->folder));
	snprintf(c->path, sizeof(c->path), "%s/%s", c->folder, name);
	copy_file(link_map_of(libm)->l_name, c->path);
	dlclose(libm);
}

static void copy_remove(const struct copy *c)
{
	unlink(c->path);
	rmdir(c->folder);
}

static void test_own_libc(void **state)
{
	/* Not malloc, which a sanitizer replaces. */
	taddr at = (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	struct modules *ms;
	struct module *libc;

	(void)state;
	assert_int_equal(modules_new(getpid(), &ms), 0);
	libc = named(ms, "libc.so.6");
	assert_non_null(libc);
	assert_int_equal(symbol(libc, "gnu_get_libc_version"), at);
	assert_ptr_equal(modules_find(ms, at), libc);
	/* Its first page, too: the module begins before its code. */
	assert_ptr_equal(modules_find(ms, libc->bias), libc);
	assert_null(modules_find(ms, (uintptr_t)&libc));
	assert_true(libc->build_id_len >= 8);
	assert_false(libc->deleted || libc->gone || libc->planned);
	modules_free(ms);
}

static void test_main_program(void **state)
{
	const struct module *exe;
	struct modules *ms;

	(void)state;
	assert_int_equal(modules_new(getpid(), &ms), 0);
	exe = linker_program(ms);
	assert_non_null(exe);
	assert_string_equal(exe->name, "test_modules");
	assert_int_equal(symbol(exe, "exported_function"), (uintptr_t)exported_function);
	modules_free(ms);
}

static void test_vdso(void **state)
{
	struct modules *ms;
	struct module *vdso;
	taddr at = getauxval(AT_SYSINFO_EHDR);
	uint8_t code[16];
	taddr addr;

	(void)state;
	if (!at)
		skip();
	assert_int_equal(modules_new(getpid(), &ms), 0);
	vdso = modules_find(ms, at);
	assert_non_null(vdso);
	assert_string_equal(vdso->name, "[vdso]");
	addr = symbol(vdso, "__vdso_clock_gettime");
	assert_true(addr >= vdso->lo && addr < vdso->hi);
	assert_int_equal(elfimage_code(vdso->img, addr - vdso->bias, code, sizeof(code)), sizeof(code));
	assert_memory_equal(code, (void *)(uintptr_t)addr, sizeof(code));
	modules_free(ms);
}

static void test_which_is_glibc(void **state)
{
	struct modules *ms;

	(void)state;
	assert_int_equal(modules_new(getpid(), &ms), 0);
	for (size_t i = 0; i < modules_count(ms); i++) {
		const struct module *m = modules_at(ms, i);

		assert_int_equal(module_is_glibc(m), !strcmp(m->name, "libc.so.6"));
	}
	modules_free(ms);
}

static void test_linker_break(void **state)
{
	struct modules *ms;
	taddr addr = 0;

	(void)state;
	assert_int_equal(modules_new(getpid(), &ms), 0);
	assert_int_equal(linker_break(ms, &addr), 0);
	assert_int_equal(addr, _r_debug.r_brk);
	modules_free(ms);
}

static void test_linker_binds(void **state)
{
	struct modules *ms;
	Dl_info bound;

	(void)state;
	/* not libc's under a sanitizer */
	assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &bound), 0);
	assert_int_equal(modules_new(getpid(), &ms), 0);
	assert_int_equal(linker_binds(ms, "malloc")->bias, (uintptr_t)bound.dli_fbase);
	assert_ptr_equal(linker_binds(ms, "exported_function"), linker_program(ms));
	assert_null(linker_binds(ms, "no_such_function_anywhere"));
	modules_free(ms);
}

static void test_dlopen_and_dlclose(void **state)
{
	struct modules *ms;
	struct module *m;
	struct copy c;
	void *handle;
	size_t before;
	taddr bias;

	(void)state;
	copy_make(&c, "lib one.so");
	assert_int_equal(modules_new(getpid(), &ms), 0);
	before = modules_count(ms);
	assert_null(named(ms, "lib one.so"));
	handle = dlopen(c.path, RTLD_NOW);
	assert_non_null(handle);
	assert_int_equal(modules_refresh(ms, false), 0);
	m = named(ms, "lib one.so");
	assert_non_null(m);
	bias = link_map_of(handle)->l_addr;
	assert_int_equal(m->bias, bias);
	m->planned = true;
	assert_int_equal(modules_refresh(ms, false), 0);
	assert_true(m->planned);

	dlclose(handle);
	assert_int_equal(modules_refresh(ms, false), 0);
	assert_true(m->gone);
	/* Stacks that were taken before still need its names. */
	assert_ptr_equal(modules_find(ms, m->lo), m);
	assert_non_null(m->img);

	/* ld.so usually maps it at the same address, but need not. */
	handle = dlopen(c.path, RTLD_NOW);
	assert_non_null(handle);
	assert_int_equal(modules_refresh(ms, false), 0);
	m = modules_find(ms, link_map_of(handle)->l_addr);
	assert_non_null(m);
	assert_string_equal(m->name, "lib one.so");
	assert_false(m->gone || m->planned);
	assert_true(modules_count(ms) > before);
	dlclose(handle);
	modules_free(ms);
	copy_remove(&c);
}

/* One file twice in one process, as dlmopen maps it, the second often right below the first. */
static void test_one_file_twice(void **state)
{
	struct modules *ms;
	struct copy c;
	void *first, *second;

	(void)state;
	copy_make(&c, "twice.so");
	first = dlopen(c.path, RTLD_NOW);
	second = dlmopen(LM_ID_NEWLM, c.path, RTLD_NOW);
	if (!first || !second)
		fail_msg("%s", dlerror());
	assert_int_equal(modules_new(getpid(), &ms), 0);
	for (int i = 0; i < 2; i++) {
		const struct link_map *lm = link_map_of(i ? second : first);
		struct module *m = modules_find(ms, lm->l_addr);

		assert_non_null(m);
		assert_string_equal(m->name, "twice.so");
		assert_int_equal(m->bias, lm->l_addr);
		assert_int_equal(m->lo, lm->l_addr);
	}
	modules_free(ms);
	dlclose(second);
	dlclose(first);
	copy_remove(&c);
}

static void test_hostile_path(void **state)
{
	struct modules *ms;
	struct module *m;
	struct copy c;
	void *handle;

	(void)state;
	copy_make(&c, " a\n1000-2000 r-xp\t\033[31m (deleted)");
	handle = dlopen(c.path, RTLD_NOW);
	assert_non_null(handle);
	assert_int_equal(modules_new(getpid(), &ms), 0);
	m = modules_find(ms, link_map_of(handle)->l_addr);
	assert_non_null(m);
	assert_string_equal(m->path, c.path);
	assert_non_null(m->img);
	assert_false(m->deleted);
	modules_free(ms);
	dlclose(handle);
	copy_remove(&c);
}

/*
 * Without CAP_CHECKPOINT_RESTORE or the like, /proc/PID/map_files cannot be opened: this must be reported,
 * and no other file used.
 */
static void expect_original(pid_t pid, taddr addr, const struct module *original)
{
	struct modules *ms;
	struct module *m;

	assert_int_equal(modules_new(pid, &ms), 0);
	m = modules_find(ms, addr);
	assert_non_null(m);
	assert_true(m->deleted);
	assert_string_equal(m->path, original->path);
	if (m->img) {
		assert_int_equal(m->build_id_len, original->build_id_len);
		assert_memory_equal(m->build_id, original->build_id, m->build_id_len);
		assert_int_equal(m->bias, original->bias);
	} else {
		assert_int_not_equal(geteuid(), 0);
		assert_string_not_equal(m->why_not, "");
	}
	modules_free(ms);
}

static void test_deleted_and_replaced(void **state)
{
	struct modules *ms;
	struct module *m;
	struct copy c;
	void *handle;
	taddr addr;

	(void)state;
	copy_make(&c, "gone.so");
	handle = dlopen(c.path, RTLD_NOW);
	assert_non_null(handle);
	addr = link_map_of(handle)->l_addr;
	assert_int_equal(modules_new(getpid(), &ms), 0);
	m = modules_find(ms, addr);
	assert_non_null(m);
	assert_false(m->deleted);
	assert_true(m->build_id_len > 0);

	assert_int_equal(unlink(c.path), 0);
	expect_original(getpid(), addr, m);
	copy_file("/proc/self/exe", c.path);
	expect_original(getpid(), addr, m);
	/* A FIFO in its place must not block us. */
	assert_int_equal(unlink(c.path), 0);
	assert_int_equal(mkfifo(c.path, 0600), 0);
	expect_original(getpid(), addr, m);
	modules_free(ms);
	dlclose(handle);
	copy_remove(&c);
}

/*
 * Not even if it is the very file: device and inode are right, and there is no /proc/PID/map_files entry for
 * it.
 */
static void test_fifo_is_not_opened(void **state)
{
	struct mapping m = { .lo = 0x1000, .hi = 0x2000, .perms = MAPPING_READ | MAPPING_EXEC };
	char path[] = "/tmp/mm-fifo-XXXXXX";
	struct modfile *f;
	struct stat st;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(stat(path, &st), 0);
	m.dev = st.st_dev;
	m.ino = st.st_ino;
	m.path = path;
	alarm(20);
	assert_int_equal(modfile_new(getpid(), &m, &f), 0);
	alarm(0);
	assert_null(f->img);
	assert_string_not_equal(f->why_not, "");
	modfile_free(f);
	unlink(path);
}

/* lld lays segments out without gaps in the file: one page of it is mapped for two of them. */
static void test_bias_where_segments_share_a_page(void **state)
{
	static const struct modfile f = {
		.segments = {
			{ .vaddr = 0, .offset = 0, .filesz = 0x5f0, .memsz = 0x5f0 },
			{ .vaddr = 0x1000, .offset = 0, .filesz = 0x8f0, .memsz = 0x8f0, .exec = true },
			{ .vaddr = 0x2000, .offset = 0, .filesz = 0xa00, .memsz = 0x3000 },
		},
		.nsegments = 3,
	};
	static const struct modfile none;
	struct mapping m = { .lo = 0x555555555000, .hi = 0x555555556000, .perms = MAPPING_EXEC };
	taddr lo, hi;

	(void)state;
	assert_int_equal(modfile_bias(&f, &m), 0x555555554000);
	modfile_span(&f, 0x555555554000, &lo, &hi);
	assert_int_equal(lo, 0x555555554000);
	assert_int_equal(hi, 0x555555559000);
	m.offset = 0x3000;
	assert_int_equal(modfile_bias(&none, &m), 0x555555552000);
}

/* A child that runs `sleep` once *@go is closed. */
static pid_t fork_sleeper(int *go, int *gone_over)
{
	int order[2], done[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(order, O_CLOEXEC), 0);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(order[1]);
		if (read(order[0], &byte, 1) == 0)
			execlp("sleep", "sleep", "1000", (char *)NULL);
		_exit(1);
	}
	close(order[0]);
	close(done[1]);
	*go = order[1];
	*gone_over = done[0];
	return pid;
}

static void test_exec_and_end(void **state)
{
	struct modules *ms;
	siginfo_t info;
	int go, gone_over;
	char byte;
	taddr addr;
	pid_t pid = fork_sleeper(&go, &gone_over);

	(void)state;
	assert_int_equal(modules_new(pid, &ms), 0);
	assert_string_equal(linker_program(ms)->name, "test_modules");
	close(go);
	/* Closed by exec, in the last process that has it. */
	assert_int_equal(read(gone_over, &byte, 1), 0);
	close(gone_over);
	assert_int_equal(modules_refresh(ms, true), 0);
	assert_null(named(ms, "test_modules"));
	assert_non_null(linker_program(ms));
	/* r_debug may not be filled yet: then the linker's own symbol is used. */
	assert_int_equal(linker_break(ms, &addr), 0);
	assert_non_null(modules_find(ms, addr));
	assert_non_null(strstr(modules_find(ms, addr)->name, "ld-linux"));

	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(modules_refresh(ms, false), -ESRCH);
	waitpid(pid, NULL, 0);
	assert_int_equal(modules_refresh(ms, false), -ESRCH);
	modules_free(ms);
	assert_int_equal(modules_new(pid, &ms), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_libc),
		cmocka_unit_test(test_main_program),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_which_is_glibc),
		cmocka_unit_test(test_linker_break),
		cmocka_unit_test(test_linker_binds),
		cmocka_unit_test(test_dlopen_and_dlclose),
		cmocka_unit_test(test_one_file_twice),
		cmocka_unit_test(test_hostile_path),
		cmocka_unit_test(test_deleted_and_replaced),
		cmocka_unit_test(test_fifo_is_not_opened),
		cmocka_unit_test(test_bias_where_segments_share_a_page),
		cmocka_unit_test(test_exec_and_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
