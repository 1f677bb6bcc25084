/* SPDX-License-Identifier: MIT */
/*
 * jit: runs code that it generated itself, without unwind information, and describes it in /tmp/perf-PID.map,
 * as engines do for Linux perf.
 *
 *	framed N	the generated code has a frame pointer: N blocks of 72 bytes
 *	bare N		it has none: N blocks of 88 bytes
 *	tiers N		a function that was compiled twice, to two addresses, and another one: N blocks of 56
 *			bytes by each
 */
#include <sys/mman.h>

#include "victim.h"

typedef void made(void *(*alloc)(size_t), size_t n);

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

int main(void)
{
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char line[ORDER_MAX], path[64];
	made *framed, *bare, *tier[TIERS];
	int n;

	if (page == MAP_FAILED)
		victim_die("mmap");
	framed = make(page, framed_code, sizeof(framed_code));
	bare = make(page + 256, bare_code, sizeof(bare_code));
	for (size_t i = 0; i < TIERS; i++)
		tier[i] = make(page + 512 + 256 * i, framed_code, sizeof(framed_code));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		victim_die("mprotect");
	write_map(page, path, sizeof(path));
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "framed %d", &n) == 1)
			for (int i = 0; i < n; i++)
				framed(malloc, 72);
		else if (sscanf(line, "bare %d", &n) == 1)
			for (int i = 0; i < n; i++)
				bare(malloc, 88);
		else if (sscanf(line, "tiers %d", &n) == 1)
			for (int i = 0; i < TIERS * n; i++)
				tier[i % TIERS](malloc, 56);
		printf("{\"done\": true}\n");
		fflush(stdout);
	}
	unlink(path);
	puts("{}");
	return 0;
}
