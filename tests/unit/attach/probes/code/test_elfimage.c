/* SPDX-License-Identifier: MIT */
/*
 * elfimage: what it reports of this program and of libc, compared with what the dynamic linker did with them;
 * and files that are no ELF, the wrong ELF, cut short or damaged, which may yield nothing but must do no
 * harm.
 */
#include "attach/probes/code/elfimage.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct {
	struct elfimage *self, *libc;
	struct dl_phdr_info exe;
	const struct link_map *libc_map;
	int exe_fd;
} fix;

int elfimage_test_function(int x);

__attribute__((noinline)) int elfimage_test_function(int x)
{
	return x * 3 + (int)getpid();
}

static int open_fd(int fd, struct elfimage **out)
{
	return elfimage_open(fd, "test", out);
}

static taddr file_address(const void *p)
{
	return (taddr)(uintptr_t)p - fix.exe.dlpi_addr;
}

#define FUNCTION_AT ((const void *)(uintptr_t)elfimage_test_function)

static void test_find(void **state)
{
	taddr addr;
	uint64_t size;
	bool ifunc;
	struct code_range over, extent;

	(void)state;
	assert_int_equal(elfimage_find(fix.self, "elfimage_test_function", &addr, &size, &ifunc), 0);
	assert_int_equal(addr, file_address(FUNCTION_AT));
	assert_true(size > 4);
	assert_false(ifunc);
	assert_string_equal(elfimage_symbol_at(fix.self, addr), "elfimage_test_function");
	assert_null(elfimage_symbol_at(fix.self, addr + 1));
	assert_true(elfimage_is_global(fix.self, addr));
	assert_false(elfimage_is_global(fix.self, addr + 1));
	assert_string_equal(elfimage_symbol_over(fix.self, addr + size - 1, &over), "elfimage_test_function");
	assert_int_equal(over.lo, addr);
	assert_int_equal(over.hi, addr + size);
	assert_true(elfimage_extent(fix.self, addr + 1, &extent));
	assert_int_equal(extent.lo, addr);
	assert_int_equal(extent.hi, addr + size);
	assert_int_equal(elfimage_find(fix.self, "elfimage_test_functio", &addr, &size, &ifunc), -ENOENT);
	/* not this program's own */
	assert_int_equal(elfimage_find(fix.self, "getpid", &addr, &size, &ifunc), -ENOENT);
}

static void test_static(void **state)
{
	taddr addr;
	uint64_t size;
	bool ifunc;

	(void)state;
	assert_int_equal(elfimage_find(fix.self, "test_static", &addr, &size, &ifunc), 0);
	assert_false(elfimage_is_global(fix.self, addr));
	assert_string_equal(elfimage_symbol_at(fix.self, addr), "test_static");
}

/* If a function has several versions, the default one. */
static void test_versions(void **state)
{
	void *handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	const void *now = dlvsym(handle, "pthread_cond_wait", "GLIBC_2.3.2");
	const void *old = dlvsym(handle, "pthread_cond_wait", "GLIBC_2.2.5");
	taddr addr;
	uint64_t size;
	bool ifunc;

	(void)state;
	assert_true(now && old && now != old);
	assert_int_equal(elfimage_find(fix.libc, "pthread_cond_wait", &addr, &size, &ifunc), 0);
	assert_int_equal(addr + fix.libc_map->l_addr, (uintptr_t)now);
	assert_int_equal(elfimage_find(fix.libc, "memcpy", &addr, &size, &ifunc), 0);
	assert_true(ifunc);
}

/* If an address has several names, the plain one. */
static void test_names(void **state)
{
	taddr addr;
	uint64_t size;
	bool ifunc;

	(void)state;
	assert_int_equal(elfimage_find(fix.libc, "__libc_malloc", &addr, &size, &ifunc), 0);
	assert_string_equal(elfimage_symbol_at(fix.libc, addr), "malloc");
	assert_string_equal(elfimage_symbol_over(fix.libc, addr + 8, &(struct code_range){ 0 }), "malloc");
}

static void test_code(void **state)
{
	taddr addr = file_address(FUNCTION_AT);
	uint8_t code[16];

	(void)state;
	assert_int_equal(elfimage_code(fix.self, addr, code, sizeof(code)), sizeof(code));
	assert_memory_equal(code, FUNCTION_AT, sizeof(code));
	assert_int_equal(elfimage_code(fix.self, file_address(&fix), code, sizeof(code)), 0);
	assert_int_equal(elfimage_code(fix.self, UINT64_MAX, code, sizeof(code)), 0);
}

static const ElfW(Phdr) *code_segment(void)
{
	for (int i = 0; i < fix.exe.dlpi_phnum; i++) {
		if (fix.exe.dlpi_phdr[i].p_type == PT_LOAD && fix.exe.dlpi_phdr[i].p_flags & PF_X)
			return &fix.exe.dlpi_phdr[i];
	}
	fail_msg("no code");
	return NULL;
}

static void test_code_ends(void **state)
{
	const ElfW(Phdr) *ph = code_segment();
	uint8_t code[16];

	(void)state;
	assert_int_equal(elfimage_code(fix.self, ph->p_vaddr + ph->p_filesz - 5, code, sizeof(code)), 5);
	assert_int_equal(elfimage_code(fix.self, ph->p_vaddr + ph->p_filesz, code, sizeof(code)), 0);
}

static void test_load(void **state)
{
	taddr vaddr = 1;

	(void)state;
	for (int i = 0; i < fix.exe.dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &fix.exe.dlpi_phdr[i];

		if (ph->p_type != PT_LOAD)
			continue;
		assert_true(elfimage_load_for_offset(fix.self, ph->p_offset & ~4095UL, &vaddr));
		assert_int_equal(vaddr, ph->p_vaddr & ~4095UL);
	}
	assert_true(elfimage_load_for_offset(fix.self, (code_segment()->p_offset & ~4095UL) + 4096, &vaddr));
	assert_int_equal(vaddr, (code_segment()->p_vaddr & ~4095UL) + 4096);
	assert_false(elfimage_load_for_offset(fix.self, 1UL << 40, &vaddr));
}

/* Its data goes on behind what the file has of it, to the end of a page. */
static char zeros[3 * 4096 + 1];

static void test_loads_at(void **state)
{
	taddr end = 0;

	(void)state;
	for (int i = 0; i < fix.exe.dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &fix.exe.dlpi_phdr[i];

		if (ph->p_type != PT_LOAD)
			continue;
		assert_true(elfimage_loads_at(fix.self, ph->p_vaddr));
		assert_true(elfimage_loads_at(fix.self, ph->p_vaddr & ~4095UL));
		end = (ph->p_vaddr + ph->p_memsz + 4095) & ~4095UL;
	}
	assert_true(elfimage_loads_at(fix.self, file_address(zeros)));
	assert_true(elfimage_loads_at(fix.self, file_address(zeros + sizeof(zeros) - 1)));
	assert_true(elfimage_loads_at(fix.self, end - 1));
	assert_false(elfimage_loads_at(fix.self, end));
	assert_false(elfimage_loads_at(fix.self, -1ull));
}

/* The note in memory. */
static size_t build_id_in_memory(const uint8_t **id)
{
	for (int i = 0; i < fix.exe.dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &fix.exe.dlpi_phdr[i];
		const char *at = (const char *)fix.exe.dlpi_addr + ph->p_vaddr, *end = at + ph->p_memsz;

		while (ph->p_type == PT_NOTE && at < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			size_t name = (note->n_namesz + 3) & ~3UL;

			*id = (const uint8_t *)at + sizeof(*note) + name;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    !memcmp(note + 1, "GNU", 4))
				return note->n_descsz;
			at += sizeof(*note) + name +
			      ((note->n_descsz + ph->p_align - 1) & ~(ph->p_align - 1));
		}
	}
	return 0;
}

static void test_build_id(void **state)
{
	const uint8_t *want;
	size_t n = build_id_in_memory(&want);
	uint8_t id[64];

	(void)state;
	assert_int_equal(elfimage_build_id(fix.self, id, sizeof(id)), n);
	assert_memory_equal(id, want, n);
	assert_int_equal(elfimage_build_id(fix.self, id, 4), n < 4 ? n : 4);
	assert_false(elfimage_textrel(fix.self));
	assert_false(elfimage_textrel(fix.libc));
}

/* Every slot that is reported to hold a function of that name does. */
static size_t check_slots(const ElfW(Phdr) *ph)
{
	size_t right = 0;

	for (taddr slot = (ph->p_vaddr + 7) & ~7UL; slot + 8 <= ph->p_vaddr + ph->p_filesz; slot += 8) {
		const char *name = elfimage_slot_symbol(fix.self, slot);
		void *really = name ? dlsym(RTLD_DEFAULT, name) : NULL;
		uintptr_t holds;

		if (!really)
			continue;
		holds = *(uintptr_t *)(fix.exe.dlpi_addr + slot);
		right += holds == (uintptr_t)really;
		if (holds == (uintptr_t)really)
			continue;
		/* not bound yet: it points back into our own PLT */
		assert_in_range(holds - fix.exe.dlpi_addr, code_segment()->p_vaddr,
				code_segment()->p_vaddr + code_segment()->p_memsz);
	}
	return right;
}

static void test_slots(void **state)
{
	size_t right = 0;

	(void)state;
	for (int i = 0; i < fix.exe.dlpi_phnum; i++) {
		if (fix.exe.dlpi_phdr[i].p_type == PT_LOAD && fix.exe.dlpi_phdr[i].p_flags & PF_W)
			right += check_slots(&fix.exe.dlpi_phdr[i]);
	}
	assert_true(right >= 3);
	assert_null(elfimage_slot_symbol(fix.self, 1));
}

static void assert_padding(taddr addr, size_t n)
{
	struct code_range over;
	uint8_t code[16];

	assert_true(addr != 0);
	assert_int_equal(elfimage_code(fix.libc, addr, code, n), n);
	for (size_t i = 0; i < n; i++) {
		assert_false(elfimage_extent(fix.libc, addr + i, &over));
		assert_true(code[i] == 0x90 || code[i] == 0x66 || code[i] == 0x2e || code[i] == 0x0f ||
			    code[i] == 0x1f || code[i] == 0x00 || code[i] == 0x40 || code[i] == 0x44 ||
			    code[i] == 0x80 || code[i] == 0x84 || code[i] == 0xcc);
	}
}

static void test_padding(void **state)
{
	taddr near, given[20];
	uint64_t size;
	bool ifunc;

	(void)state;
	assert_int_equal(elfimage_find(fix.libc, "malloc", &near, &size, &ifunc), 0);
	for (size_t i = 0; i < 20; i++) {
		given[i] = elfimage_padding(fix.libc, near + i, 8);
		assert_padding(given[i], 8);
		assert_in_range(given[i], near - (1 << 18), near + (1 << 18));
		for (size_t k = 0; k < i; k++)
			assert_true(given[k] != given[i]);
	}
	/* a module that is opened again gets the same padding again */
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(elfimage_padding(fix.libc, near + i, 8), given[i]);
	assert_padding(elfimage_padding(fix.libc, 0, 1), 1);
	assert_padding(elfimage_padding(fix.libc, UINT64_MAX, 1), 1);
	assert_int_equal(elfimage_padding(fix.libc, near, 1000), 0);
	assert_int_equal(elfimage_padding(fix.libc, near, 0), 0);
}

/* --- files that are not what they should be --- */

static size_t exe_size(void)
{
	struct stat st;

	assert_int_equal(fstat(fix.exe_fd, &st), 0);
	return (size_t)st.st_size;
}

/* A copy that we may damage: the first @n bytes of this program. */
static int copy_of_exe(size_t n)
{
	int fd = memfd_create("copy", MFD_CLOEXEC);
	cleanup_free uint8_t *all = malloc(n + 1);

	assert_true(fd >= 0 && all);
	assert_int_equal(pread(fix.exe_fd, all, n, 0), n);
	assert_int_equal(pwrite(fd, all, n, 0), n);
	return fd;
}

/* Call every query. */
static void ask_all(struct elfimage *img)
{
	uint8_t buf[64];
	taddr addr;
	uint64_t size;
	bool ifunc;
	struct code_range range;

	elfimage_build_id(img, buf, sizeof(buf));
	elfimage_textrel(img);
	elfimage_load_for_offset(img, 0, &addr);
	elfimage_loads_at(img, 0);
	elfimage_loads_at(img, -1ull);
	(void)!elfimage_find(img, "main", &addr, &size, &ifunc);
	addr = file_address(FUNCTION_AT);
	elfimage_symbol_at(img, addr);
	elfimage_is_global(img, addr);
	elfimage_symbol_over(img, addr, &range);
	elfimage_extent(img, addr, &range);
	elfimage_slot_symbol(img, addr);
	elfimage_code(img, addr, buf, sizeof(buf));
	elfimage_padding(img, addr, 8);
}

static void assert_refused(int fd, int want)
{
	struct elfimage *img = NULL;

	assert_int_equal(open_fd(fd, &img), want);
	assert_null(img);
	close(fd);
}

static void test_refused(void **state)
{
	uint8_t byte = ELFCLASS32;
	uint16_t word = EM_AARCH64;
	int fds[2], fd;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_refused(fds[0], -EINVAL);
	close(fds[1]);
	assert_refused(open("/", O_RDONLY | O_DIRECTORY), -EINVAL);
	assert_refused(open("/dev/null", O_RDONLY), -EINVAL);
	assert_refused(copy_of_exe(0), -EINVAL);
	assert_refused(copy_of_exe(3), -EINVAL);
	fd = copy_of_exe(4096);
	assert_int_equal(pwrite(fd, &byte, 1, EI_CLASS), 1);
	assert_refused(fd, -EINVAL);
	fd = copy_of_exe(4096);
	assert_int_equal(pwrite(fd, &word, 2, offsetof(Elf64_Ehdr, e_machine)), 2);
	assert_refused(fd, -EINVAL);
	fd = copy_of_exe(4096);
	word = ET_REL;
	assert_int_equal(pwrite(fd, &word, 2, offsetof(Elf64_Ehdr, e_type)), 2);
	assert_refused(fd, -EINVAL);
}

/*
 * Without section headers there are no names, but code can still be read, and the program headers lead to
 * .eh_frame.
 */
static void test_no_sections(void **state)
{
	int fd = copy_of_exe(exe_size());
	Elf64_Ehdr eh;
	struct elfimage *img;
	taddr addr = file_address(FUNCTION_AT);
	uint64_t size;
	bool ifunc;
	struct code_range range;
	uint8_t code[16];

	(void)state;
	assert_int_equal(pread(fd, &eh, sizeof(eh), 0), sizeof(eh));
	eh.e_shoff = 0;
	eh.e_shnum = 0;
	eh.e_shstrndx = 0;
	assert_int_equal(pwrite(fd, &eh, sizeof(eh), 0), sizeof(eh));
	assert_int_equal(open_fd(fd, &img), 0);
	close(fd);
	assert_int_equal(elfimage_code(img, addr, code, sizeof(code)), sizeof(code));
	assert_int_equal(elfimage_find(img, "main", &addr, &size, &ifunc), -ENOENT);
	assert_true(elfimage_extent(img, addr, &range));
	assert_in_range(addr, range.lo, range.hi - 1);
	ask_all(img);
	elfimage_close(img);
}

static void test_cut_short(void **state)
{
	size_t size = exe_size();

	(void)state;
	for (size_t i = 1; i <= 40; i++) {
		int fd = copy_of_exe(size * i / 41);
		struct elfimage *img = NULL;

		if (open_fd(fd, &img) == 0)
			ask_all(img);
		elfimage_close(img);
		close(fd);
	}
}

/* The file is cut while it is open. */
static void test_cut_later(void **state)
{
	int fd = copy_of_exe(exe_size());
	struct elfimage *img;
	uint8_t code[16];

	(void)state;
	assert_int_equal(open_fd(fd, &img), 0);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(elfimage_code(img, file_address(FUNCTION_AT), code, sizeof(code)), 0);
	ask_all(img);
	elfimage_close(img);
	close(fd);
}

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Where damage has effects: the headers, the section headers, and the tables they name. */
static size_t draw_place(uint64_t *seed, const Elf64_Ehdr *eh, size_t size)
{
	switch (draw(seed) % 3) {
	case 0:
		return draw(seed) % 1024;
	case 1:
		return (eh->e_shoff + draw(seed) % (eh->e_shnum * sizeof(Elf64_Shdr))) % (size - 8);
	}
	return draw(seed) % (size - 8);
}

static void test_damaged(void **state)
{
	size_t size = exe_size(), opened = 0;
	uint64_t seed = 0x1234567887654321ULL;
	Elf64_Ehdr eh;

	(void)state;
	assert_int_equal(pread(fix.exe_fd, &eh, sizeof(eh), 0), sizeof(eh));
	for (int i = 0; i < 300; i++) {
		int fd = copy_of_exe(size);
		struct elfimage *img = NULL;

		for (int k = 0; k < 1 + i % 20; k++) {
			uint64_t noise = draw(&seed) % 4 ? draw(&seed) : UINT64_MAX >> draw(&seed) % 64;

			assert_true(pwrite(fd, &noise, 1 + draw(&seed) % 8,
					   (off_t)draw_place(&seed, &eh, size)) > 0);
		}
		if (open_fd(fd, &img) == 0) {
			opened++;
			ask_all(img);
		}
		elfimage_close(img);
		close(fd);
	}
	assert_true(opened > 50);
}

/* --- */

static int note_exe(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	memcpy(data, info, sizeof(*info));
	return 1;	/* the program comes first */
}

static int set_up(void **state)
{
	void *handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	cleanup_close int fd = -1;

	(void)state;
	dl_iterate_phdr(note_exe, &fix.exe);
	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &fix.libc_map))
		return -1;
	fd = open(fix.libc_map->l_name, O_RDONLY | O_CLOEXEC);
	fix.exe_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fix.exe_fd < 0)
		return -1;
	return open_fd(fd, &fix.libc) || open_fd(fix.exe_fd, &fix.self) ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	elfimage_close(fix.self);
	elfimage_close(fix.libc);
	close(fix.exe_fd);
	elfimage_close(NULL);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),	  cmocka_unit_test(test_static),
		cmocka_unit_test(test_versions),  cmocka_unit_test(test_names),
		cmocka_unit_test(test_code),	  cmocka_unit_test(test_code_ends),
		cmocka_unit_test(test_load),	  cmocka_unit_test(test_loads_at),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_slots),	  cmocka_unit_test(test_padding),
		cmocka_unit_test(test_refused),	  cmocka_unit_test(test_no_sections),
		cmocka_unit_test(test_cut_short), cmocka_unit_test(test_cut_later),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
