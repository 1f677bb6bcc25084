/* SPDX-License-Identifier: MIT */
/*
 * unload: loads a plugin, has it leak, unloads it, and maps something else where it was.
 *
 *	leak PATH N SIZE	N blocks of SIZE bytes from PATH's leak_some, then dlclose
 *	return PATH N SIZE	the same, but they are freed first
 *	cover			map memory of our own over where the last plugin was
 *	made N			cover it with code that we generated, which allocates N blocks of 72 bytes
 */
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include "victim.h"

static void *where;

static void leak(const char *path, int n, size_t size, bool keep)
{
	void *handle = dlopen(path, RTLD_NOW);
	void *(*leak_some)(size_t);

	if (!handle) {
		fprintf(stderr, "victim: %s\n", dlerror());
		_exit(3);
	}
	where = (void *)((struct link_map *)handle)->l_addr;
	*(void **)&leak_some = dlsym(handle, "leak_some");
	for (int i = 0; i < n; i++) {
		void *p = leak_some(size);

		if (!p)
			victim_die("leak_some");
		if (!keep)
			free(p);
	}
	dlclose(handle);
}

static void *cover(int protection)
{
	void *p = mmap(where, 16384, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (p != where)
		victim_die("mmap");
	return p;
}

/* push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi; call rax; pop rbp; ret */
static const unsigned char framed[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
					0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3 };

/* The generated code goes where the plugin's first function was. */
static void run_made(int n)
{
	unsigned char *code = cover(PROT_READ | PROT_WRITE);
	void (*made)(void *(*)(size_t), size_t);

	code += 4096 + 0x100;
	memcpy(code, framed, sizeof(framed));
	if (mprotect(where, 16384, PROT_READ | PROT_EXEC))
		victim_die("mprotect");
	*(void **)&made = code;
	for (int i = 0; i < n; i++)
		made(malloc, 72);
}

int main(void)
{
	char line[ORDER_MAX], path[ORDER_MAX], order[16];
	size_t size;
	int n;

	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		/* one call for both orders, so that they are one stack */
		if (sscanf(line, "%15s %127s %d %zu", order, path, &n, &size) == 4)
			leak(path, n, size, strcmp(order, "leak") == 0);
		else if (strcmp(line, "cover") == 0)
			cover(PROT_READ | PROT_EXEC);
		else if (sscanf(line, "made %d", &n) == 1)
			run_made(n);
		printf("{\"done\": true}\n");
		fflush(stdout);
	}
	puts("{}");
	return 0;
}
