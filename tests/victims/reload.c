/* SPDX-License-Identifier: MIT */
/*
 * reload PATH: opens and closes a plugin (libreload.so) all the time, and maps its file as data where its
 * code has just been.
 *
 *	closed MS	for so long: dlopen, 60 calls, dlclose, the file mapped there instead, shared and
 *			writable; and so on
 *	unmapped MS	the same without the linker: the code is unmapped, and mapped again in the end
 *	plain MS	nothing is mapped: dlopen, 60 calls, dlclose, every 20 ms
 *
 * Each order is answered with {"turns", "longest_ms": of a turn, "changed": bytes of the file that differed
 * from the start}. The file itself must be unchanged, too.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "victim.h"

#define CALLS 60
#define MOST_US 20000	/* for how long the plugin, or the file, is mapped */

enum way { CLOSED, UNMAPPED, PLAIN };

static const char *path;
static unsigned char *content;	/* of the file, at the start */
static size_t size;
static uint64_t rng = 88172645463325252ull;
static unsigned long changed;

static void nap(unsigned us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

static void *load(void)
{
	void *handle = dlopen(path, RTLD_NOW);
	void *(*const *takes)(size_t);

	if (!handle) {
		fprintf(stderr, "victim: %s\n", dlerror());
		_exit(3);
	}
	takes = dlsym(handle, "reload_takes");
	for (int i = 0, k = 0; i < CALLS; i++, k = takes[k + 1] ? k + 1 : 0) {
		void *p = takes[k](16);

		escape(p);
		free(p);
	}
	return handle;
}

/* The executable part of the file: where the linker has mapped it. */
struct code {
	unsigned char *at;
	size_t n, offset;
};

static struct code code_of(void *handle)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)content;
	const ElfW(Phdr) *p = (const ElfW(Phdr) *)(content + header->e_phoff);

	while (!(p->p_flags & PF_X))
		p++;
	return (struct code){ (unsigned char *)((struct link_map *)handle)->l_addr + p->p_vaddr,
			      (p->p_memsz + 4095) & ~4095ul, p->p_offset };
}

static void map_code(const struct code *c, int protection, int how)
{
	int fd = open(path, O_RDWR);

	if (fd < 0 || mmap(c->at, c->n, protection, how, fd, (off_t)c->offset) != c->at)
		victim_die("mmap");
	close(fd);
}

static void look(const struct code *c)
{
	for (size_t i = 0; i < c->n && c->offset + i < size; i++)
		changed += c->at[i] != content[c->offset + i];
}

/* Map the same file range as data, for a while. */
static void show(const struct code *c, int how)
{
	map_code(c, PROT_READ | PROT_WRITE, MAP_SHARED | how);
	look(c);
	nap(victim_random(&rng) % MOST_US);
	look(c);
}

static void turn_closed(void)
{
	void *handle = load();
	struct code c = code_of(handle);

	nap(victim_random(&rng) % MOST_US);
	dlclose(handle);
	show(&c, MAP_FIXED_NOREPLACE);
	munmap(c.at, c.n);
}

static void turn_unmapped(void)
{
	void *handle = load();
	struct code c = code_of(handle);

	nap(victim_random(&rng) % MOST_US);
	show(&c, MAP_FIXED);
	map_code(&c, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED);
	dlclose(handle);
}

static void turn_plain(void)
{
	void *handle = load();

	nap(MOST_US / 2);
	dlclose(handle);
	nap(MOST_US / 2);
}

static void go(enum way way, unsigned ms)
{
	static void (*const turns[])(void) = { turn_closed, turn_unmapped, turn_plain };
	uint64_t end = now_ns() + ms * 1000000ull, longest = 0;
	unsigned long n = 0;

	for (; now_ns() < end; n++) {
		uint64_t from = now_ns();

		turns[way]();
		if (now_ns() - from > longest)
			longest = now_ns() - from;
	}
	printf("{\"turns\": %lu, \"longest_ms\": %.1f, \"changed\": %lu}\n", n, longest / 1e6, changed);
	fflush(stdout);
}

static void read_file(void)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		victim_die(path);
	size = st.st_size;
	content = malloc(size);
	if (!content || read(fd, content, size) != (ssize_t)size)
		victim_die(path);
	close(fd);
}

int main(int argc, char **argv)
{
	char line[ORDER_MAX];
	unsigned ms;

	if (argc != 2)
		return 2;
	path = argv[1];
	read_file();
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "closed %u", &ms) == 1)
			go(CLOSED, ms);
		else if (sscanf(line, "unmapped %u", &ms) == 1)
			go(UNMAPPED, ms);
		else if (sscanf(line, "plain %u", &ms) == 1)
			go(PLAIN, ms);
	}
	puts("{}");
	return 0;
}
