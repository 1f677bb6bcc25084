/* SPDX-License-Identifier: MIT */
/*
 * unload: loads a plugin, has it leak, unloads it, and maps something else where it was.
 *
 *	leak PATH N SIZE	N blocks of SIZE bytes from PATH's leak_some, then dlclose
 *	cover			map memory of our own over where the last plugin was
 */
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include "victim.h"

static void *where;

static void leak(const char *path, int n, size_t size)
{
	void *handle = dlopen(path, RTLD_NOW);
	void *(*leak_some)(size_t);

	if (!handle) {
		fprintf(stderr, "victim: %s\n", dlerror());
		_exit(3);
	}
	where = (void *)((struct link_map *)handle)->l_addr;
	*(void **)&leak_some = dlsym(handle, "leak_some");
	for (int i = 0; i < n; i++)
		if (!leak_some(size))
			victim_die("leak_some");
	dlclose(handle);
}

int main(void)
{
	char line[ORDER_MAX], path[ORDER_MAX];
	size_t size;
	int n;

	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "leak %127s %d %zu", path, &n, &size) == 3)
			leak(path, n, size);
		else if (strcmp(line, "cover") == 0 &&
			 mmap(where, 16384, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != where)
			victim_die("mmap");
		printf("{\"done\": true}\n");
		fflush(stdout);
	}
	puts("{}");
	return 0;
}
