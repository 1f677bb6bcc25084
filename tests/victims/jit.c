/* SPDX-License-Identifier: MIT */
/*
 * jit: runs code that it generated itself, without unwind information, and describes it in /tmp/perf-PID.map,
 * as engines do for Linux perf.
 *
 *	framed N	the generated code has a frame pointer: N blocks of 72 bytes
 *	bare N		it has none: N blocks of 88 bytes
 *	tiers N		a function that was compiled twice, to two addresses, and another one: N blocks of 56
 *			bytes by each
 *
 * And calls tail_alloc, which ends in a jump to what a pointer points to: so its end can only be seen at the
 * return address, and no trap can be there.
 *
 *	returns N	N blocks by tail_alloc, each freed: {"ns": how long one takes}
 *	inside N	the same, and before the generated code returns, one more by code of this file
 *	moved PATH N	N by generated code, which is then unmapped, and N by code of the module PATH
 *			(libplug.so), which is loaded there: {"same": whether it returns to the same address}
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/mman.h>

#include "victim.h"

typedef void *made(void *(*alloc)(size_t), size_t n, void (*then)(void *));

/* push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi; call rax; pop rbp; ret */
static const unsigned char framed_code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
					     0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3 };
/* The same, but rbp leads to no frame. */
static const unsigned char bare_code[] = {
	0x55,			/* push rbp */
	0x31, 0xed,		/* xor ebp, ebp */
	0x48, 0x89, 0xf8,	/* mov rax, rdi */
	0x48, 0x89, 0xf7,	/* mov rdi, rsi */
	0xff, 0xd0,		/* call rax */
	0x5d,			/* pop rbp */
	0xc3,
};

/*
 * push rbx; mov rbx, rdx; mov rax, rdi; mov rdi, rsi; call rax; mov rdi, rax; call rbx; pop rbx; ret: what
 * was allocated is freed by the second call.
 */
static const unsigned char two_code[] = { 0x53, 0x48, 0x89, 0xd3, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7,
					  0xff, 0xd0, 0x48, 0x89, 0xc7, 0xff, 0xd3, 0x5b, 0xc3 };

#define FRAMED_RETURN 12	/* where the call returns to, in framed_code */
#define TIERS 3
static const char *const tiers[TIERS] = { "JS:~work app.js:3:10", "JS:*work app.js:3:10",
					  "JS:*other app.js:9:10" };

static made *make(unsigned char *page, const void *code, size_t n)
{
	memcpy(page, code, n);
	return (made *)(void *)page;
}

static void write_map(const unsigned char *page, char *path, size_t size)
{
	FILE *f;

	snprintf(path, size, "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f)
		victim_die(path);
	fprintf(f, "%lx %zx script:parse line 3\n", (unsigned long)page, sizeof(framed_code));
	fprintf(f, "%lx %zx script:bare\n", (unsigned long)page + 256, sizeof(bare_code));
	for (size_t i = 0; i < TIERS; i++)
		fprintf(f, "%lx %zx %s\n", (unsigned long)page + 512 + 256 * i, sizeof(framed_code), tiers[i]);
	fclose(f);
}

/* --- calls that end elsewhere --- */

void *tail_alloc(size_t n);
void *(*volatile tail_target)(size_t n) = malloc;

__asm__(".text\n"
	".p2align 4\n"
	".globl tail_alloc\n"
	".type tail_alloc, @function\n"
	"tail_alloc:\n"
	"	mov tail_target(%rip), %rax\n"
	"	jmp *%rax\n"
	".size tail_alloc, . - tail_alloc\n");

static void give_back(void *p)
{
	memset(p, 0x5a, 8);
	free(p);
}

__attribute__((noipa)) static void one_more(void *p)
{
	void *mine;

	give_back(p);
	mine = tail_alloc(40);
	give_back(mine);
}

static uint64_t returns(made *by, int n)
{
	const uint64_t began = now_ns();

	for (int i = 0; i < n; i++)
		give_back(by(tail_alloc, 64, NULL));
	return n ? (now_ns() - began) / (unsigned)n : 0;
}

static uintptr_t returned_to;

__attribute__((noipa)) static void *note_return(size_t n)
{
	returned_to = (uintptr_t)__builtin_return_address(0);
	return malloc(n);
}

static made *open_plug(const char *path, void **handle)
{
	made *by;

	*handle = dlopen(path, RTLD_NOW);
	if (!*handle)
		victim_die(dlerror());
	*(void **)&by = dlsym(*handle, "plug_by");
	give_back(by(note_return, 64, NULL));
	return by;
}

static bool moved(const char *path, int n)
{
	void *handle;
	uintptr_t first, page;
	made *by;

	open_plug(path, &handle);
	first = returned_to;
	dlclose(handle);
	page = (first - FRAMED_RETURN) & ~4095ul;
	if (mmap((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		victim_die("mmap");
	returns(make((unsigned char *)first - FRAMED_RETURN, framed_code, sizeof(framed_code)), n);
	munmap((void *)page, 8192);
	by = open_plug(path, &handle);
	if (returned_to == first)
		returns(by, n);
	return returned_to == first;
}

/* --- orders --- */

static void obey_returns(const char *line, made *framed, made *two)
{
	char path[ORDER_MAX];
	int n;

	if (sscanf(line, "returns %d", &n) == 1) {
		printf("{\"ns\": %llu}\n", (unsigned long long)returns(framed, n));
	} else if (sscanf(line, "moved %127s %d", path, &n) == 2) {
		printf("{\"same\": %s}\n", moved(path, n) ? "true" : "false");
	} else {
		if (sscanf(line, "inside %d", &n) == 1)
			for (int i = 0; i < n; i++)
				two(tail_alloc, 64, one_more);
		printf("{\"done\": true}\n");
	}
}

int main(void)
{
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char line[ORDER_MAX], path[64];
	made *framed, *bare, *two, *tier[TIERS];
	int n;

	if (page == MAP_FAILED)
		victim_die("mmap");
	framed = make(page, framed_code, sizeof(framed_code));
	bare = make(page + 256, bare_code, sizeof(bare_code));
	for (size_t i = 0; i < TIERS; i++)
		tier[i] = make(page + 512 + 256 * i, framed_code, sizeof(framed_code));
	two = make(page + 2048, two_code, sizeof(two_code));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		victim_die("mprotect");
	write_map(page, path, sizeof(path));
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "framed %d", &n) == 1)
			for (int i = 0; i < n; i++)
				framed(malloc, 72, NULL);
		else if (sscanf(line, "bare %d", &n) == 1)
			for (int i = 0; i < n; i++)
				bare(malloc, 88, NULL);
		else if (sscanf(line, "tiers %d", &n) == 1)
			for (int i = 0; i < TIERS * n; i++)
				tier[i % TIERS](malloc, 56, NULL);
		obey_returns(line, framed, two);
		fflush(stdout);
	}
	unlink(path);
	puts("{}");
	return 0;
}
