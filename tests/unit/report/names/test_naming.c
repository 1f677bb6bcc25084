/* SPDX-License-Identifier: MIT */
/*
 * naming: frames of this very program get names, once; those of other builds and of files that are not here
 * get none, with the reason.
 */
#include "report/names/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "base/strbuf.h"
#include "symbolize/files/buildid.h"

#define OTHER_BUILD "00112233445566778899aabbccddeeff00112233"

/* Puts the names into the definitions, as a ledger does it. */
struct run {
	struct defs defs;
	struct strbuf notes;
	struct naming_files files, local_files;
	struct naming_local *local;
	size_t names, opened, closed;
	size_t fail_after;	/* so many facts are accepted; 0: all */
};

static char own_path[4096], own_id[BUILDID_TEXT];

static int take(void *ctx, const struct fact *f)
{
	struct run *r = ctx;

	if (f->info == MMT_NOTE) {
		strbuf_printf(&r->notes, "%s\n", f->note);
		return 0;
	}
	assert_int_equal(f->info, MMT_NAMES);
	assert_true(f->names.n >= 1);
	if (r->fail_after && r->names == r->fail_after)
		return -ENOSPC;
	r->names++;
	return defs_take(&r->defs, f);
}

static int open_counted(void *ctx, uint32_t module, char *why, size_t why_size)
{
	struct run *r = ctx;

	r->opened++;
	return r->local_files.open(r->local_files.ctx, module, why, why_size);
}

static void close_counted(void *ctx, uint32_t module, int fd)
{
	struct run *r = ctx;

	r->closed++;
	r->local_files.close(r->local_files.ctx, module, fd);
}

static const char *made_code(void *ctx, taddr addr)
{
	(void)ctx;
	return addr == 0x4242 ? "made" : NULL;
}

static void begin(struct run *r)
{
	*r = (struct run){ 0 };
	strbuf_init(&r->notes);
	defs_init(&r->defs);
	assert_int_equal(naming_local_new(&r->defs, &r->local, &r->local_files), 0);
	assert_int_equal(r->local_files.root, -1);
	r->files = (struct naming_files){ open_counted, close_counted, made_code, -1, r };
}

static void end(struct run *r)
{
	assert_true(r->closed <= r->opened);
	naming_local_free(r->local);
	defs_fini(&r->defs);
	strbuf_fini(&r->notes);
}

static void define(struct run *r, const struct fact *f)
{
	assert_int_equal(defs_take(&r->defs, f), 0);
}

static void add_module(struct run *r, uint32_t number, uint32_t file, taddr bias, const char *path,
		       const char *build_id)
{
	struct fact f = { .kind = MMT_INFO, .info = MMT_MODULE };

	f.module.number = number;
	f.module.file = file;
	f.module.bias = bias;
	f.module.path = path;
	f.module.build_id = build_id;
	define(r, &f);
}

static void add_frame(struct run *r, uint32_t number, uint32_t module, taddr pc, bool exact)
{
	struct fact f = { .kind = MMT_INFO, .info = MMT_FRAME };

	f.frame.number = number;
	f.frame.module = module;
	f.frame.pc = pc;
	f.frame.exact = exact;
	define(r, &f);
}

static int run(struct run *r, const bool *wanted, int stop)
{
	struct naming_options opt = { .stop = stop, .put = take, .ctx = r };

	return naming_run(&r->defs, wanted, &r->files, &opt);
}

/* The last name of frame index @i: of the function that contains the code. */
static const struct defs_name *name_of(const struct run *r, size_t i)
{
	const struct defs_frame *f = &r->defs.frames[i];

	assert_true(f->nnames >= 1);
	return &r->defs.names[f->names + f->nnames - 1];
}

static int see_first(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(taddr *)bias = info->dlpi_addr;
	return 1;
}

static taddr own_bias(void)
{
	taddr bias = 0;

	dl_iterate_phdr(see_first, &bias);
	return bias;
}

__attribute__((noipa)) static taddr call_site(void)
{
	return (taddr)(uintptr_t)__builtin_return_address(0);
}

/* The call is the last instruction here: its return address may be in another function. */
__attribute__((noipa)) static taddr sample(int *line)
{
	taddr pc;

	*line = __LINE__; pc = call_site();
	__asm__ volatile("" : "+r"(pc));
	return pc;
}

static void names_ourselves(void **state)
{
	const taddr bias = own_bias();
	struct run r;
	int line;

	(void)state;
	begin(&r);
	add_module(&r, 7, 3, bias, own_path, own_id);
	add_module(&r, 8, 3, bias + 0x10000000, own_path, own_id);
	add_frame(&r, 5, 8, sample(&line), false);
	add_frame(&r, 6, 9, (taddr)(uintptr_t)call_site + 0x10000000, true);
	add_frame(&r, 9, 8, (taddr)(uintptr_t)call_site, false);
	add_frame(&r, 10, 8, 0x10, false);
	add_frame(&r, 11, FACT_NONE, 0x4243, false);
	add_frame(&r, 12, FACT_NONE, 0x4243, true);
	assert_int_equal(run(&r, NULL, 0), 0);
	assert_string_equal(strbuf_str(&r.notes), "");
	assert_int_equal(r.opened, 1);
	assert_int_equal(r.closed, 1);
	assert_int_equal(r.names, 6);
	assert_string_equal(name_of(&r, 0)->function, "sample");
	assert_non_null(strstr(name_of(&r, 0)->file, "tests/unit/report/names/test_naming.c"));
	assert_int_equal(name_of(&r, 0)->line, line);
	assert_string_equal(name_of(&r, 1)->function, "call_site");
	assert_true(!name_of(&r, 2)->function || strcmp(name_of(&r, 2)->function, "call_site"));
	assert_null(name_of(&r, 3)->function);
	assert_string_equal(name_of(&r, 4)->function, "made");
	assert_null(name_of(&r, 5)->function);
	end(&r);
}

/* A frame that has names is not looked up again, nor is a frame that is not wanted. */
static void once(void **state)
{
	const taddr bias = own_bias();
	const bool wanted[] = { true, false, true };
	struct run r;

	(void)state;
	begin(&r);
	add_module(&r, 0, 0, bias, own_path, own_id);
	for (uint32_t i = 0; i < 3; i++)
		add_frame(&r, i, i < 2 ? 1 : FACT_NONE, (taddr)(uintptr_t)call_site + i, true);
	assert_int_equal(run(&r, wanted, 0), 0);
	assert_int_equal(r.names, 2);
	assert_int_equal(r.defs.frames[1].nnames, 0);
	assert_int_equal(run(&r, NULL, 0), 0);
	assert_int_equal(r.names, 3);
	assert_int_equal(run(&r, NULL, 0), 0);
	assert_int_equal(r.names, 3);
	assert_int_equal(r.opened, 2);
	end(&r);
}

static void other_files(void **state)
{
	cleanup_free char *notes = NULL;
	const taddr bias = own_bias();
	struct run r;

	(void)state;
	begin(&r);
	add_module(&r, 0, 0, bias, own_path, OTHER_BUILD);
	add_module(&r, 1, 0, bias, "/nowhere/lib.so", own_id);	/* the same file, by the trace */
	add_module(&r, 2, 2, bias, "/dev/null", "");
	add_module(&r, 3, 3, bias, "../relative.so", "");
	add_module(&r, 4, 4, bias, "[vdso]", "");
	add_module(&r, 5, 5, bias, own_path, "");
	add_module(&r, 6, 6, bias, "/etc/passwd", own_id);
	add_module(&r, 7, 7, bias, "/nowhere/other.so", own_id);
	for (uint32_t i = 0; i < 8; i++)
		add_frame(&r, i, i + 1, (taddr)(uintptr_t)call_site, true);
	assert_int_equal(run(&r, NULL, 0), 0);
	assert_int_equal(r.names, 8);
	assert_int_equal(r.closed, 1);
	assert_int_equal(
		asprintf(&notes,
			 "no names for %s: another build is installed here\n"
			 "no names for /nowhere/lib.so, /nowhere/other.so: not on this machine\n"
			 "no names for /dev/null: Invalid argument\n"
			 "no names for ../relative.so: nothing tells where it is\n"
			 "names for %s may be wrong: nothing tells whether what is installed here is what "
			 "ran\n"
			 "no names for /etc/passwd: what is there on this machine is not an ELF file\n",
			 own_path, own_path),
		r.notes.len);
	assert_string_equal(strbuf_str(&r.notes), notes);
	for (size_t i = 0; i < 8; i++)
		assert_true(i == 5 || !name_of(&r, i)->function);
	assert_string_equal(name_of(&r, 5)->function, "call_site");
	end(&r);
}

/* With a trace from another machine all files may be missing: one note. */
static void many_missing(void **state)
{
	char path[32];
	struct run r;

	(void)state;
	begin(&r);
	for (uint32_t i = 0; i < 12; i++) {
		snprintf(path, sizeof(path), "/nowhere/%u.so", i);
		add_module(&r, i, i, 0, path, own_id);
		add_frame(&r, i, i + 1, 0x100 + i, true);
	}
	assert_int_equal(run(&r, NULL, 0), 0);
	assert_string_equal(strbuf_str(&r.notes),
			    "no names for /nowhere/0.so, /nowhere/1.so, /nowhere/2.so, /nowhere/3.so, "
			    "/nowhere/4.so, /nowhere/5.so, "
			    "/nowhere/6.so, /nowhere/7.so and 4 more: not on this machine\n");
	end(&r);
}

/* A signal: the other frames get no names, with one note. */
static void stopped(void **state)
{
	struct run r;
	int fds[2];

	(void)state;
	begin(&r);
	add_module(&r, 0, 0, own_bias(), own_path, own_id);
	add_module(&r, 1, 1, own_bias(), own_path, own_id);
	add_frame(&r, 0, 1, (taddr)(uintptr_t)call_site, true);
	add_frame(&r, 1, 2, (taddr)(uintptr_t)call_site, true);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write_full(fds[1], "x", 1), 0);
	assert_int_equal(run(&r, NULL, fds[0]), 0);
	assert_string_equal(strbuf_str(&r.notes),
			    "a signal came while names were looked up: not all are there\n");
	assert_int_equal(r.names, 2);
	assert_int_equal(r.opened, 1);
	assert_int_equal(r.closed, 1);
	close(fds[0]);
	close(fds[1]);
	end(&r);
}

static void put_fails(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	r.fail_after = 1;
	add_module(&r, 0, 0, own_bias(), own_path, own_id);
	for (uint32_t i = 0; i < 3; i++)
		add_frame(&r, i, 1, (taddr)(uintptr_t)call_site + i, true);
	assert_int_equal(run(&r, NULL, 0), -ENOSPC);
	assert_int_equal(r.names, 1);
	assert_int_equal(r.closed, 1);
	end(&r);
}

/* The first @n bytes of ours, byte @at changed: it reads our build id, nothing, or some other bytes. */
static void check_copy(const char *bytes, size_t n, size_t at, bool same)
{
	cleanup_close int copy = memfd_create("copy", MFD_CLOEXEC);
	char text[BUILDID_TEXT];
	int r;

	assert_int_equal(pwrite(copy, bytes, n, 0), n);
	if (at < n)
		assert_int_equal(pwrite(copy, "\xff", 1, (off_t)at), 1);
	r = buildid_read(copy, text);
	assert_true(r == 0 || (r == -EINVAL && !text[0]));
	assert_true(strlen(text) < BUILDID_TEXT);
	if (same)
		assert_true(!text[0] || !strcmp(text, own_id));
}

static void build_ids(void **state)
{
	cleanup_close int own = open(own_path, O_RDONLY | O_CLOEXEC);
	cleanup_free char *bytes = NULL;
	size_t n;

	(void)state;
	assert_int_equal(strlen(own_id), 40);
	assert_int_equal(read_whole_fd(own, 64u << 20, &bytes, &n), 0);
	assert_true(n > 4096);
	for (size_t at = 0; at < 1024; at++)
		check_copy(bytes, 4096, at, false);
	for (size_t size = 0; size < 4096; size += 7)
		check_copy(bytes, size, SIZE_MAX, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_ourselves),
		cmocka_unit_test(once),
		cmocka_unit_test(other_files),
		cmocka_unit_test(many_missing),
		cmocka_unit_test(stopped),
		cmocka_unit_test(put_fails),
		cmocka_unit_test(build_ids),
	};
	cleanup_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	if (n < 0 || buildid_read(fd, own_id))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
