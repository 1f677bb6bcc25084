/* SPDX-License-Identifier: MIT */
/*
 * dl: opens and closes libplug.so, which is beside this program.
 *
 *	open		dlopen; its constructor allocates once
 *	call N		N allocations; all but the last are freed
 *	close		dlclose
 *	cycles N K	N times: open, K allocations, each freed by plug_step_free, close
 *	copy N		a child, a copy of this process, that does "call N" once it gets SIGUSR1; the order
 *			does not wait for that: {"child": pid}
 *	opener N	the same, of a child that opens the plugin, which this process has not, and then does
 *			"call N"
 *	status		once the child has ended: {"status": as of wait}
 *	end		{"allocs", "frees", "opens"}: calls of plug_malloc and plug_free, and of dlopen
 *
 * Each other order is answered with {"done": true}, so that a test knows when it is done.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <signal.h>
#include <sys/wait.h>

#include "victim.h"

struct plug {
	void *handle;
	void *(*alloc)(size_t n);
	void (*free)(void *p), (*step_free)(void *p);
	unsigned long allocs, frees, opens;
};

static void open_plug(struct plug *plug, const char *program)
{
	char path[4096], *copy = strdup(program);

	snprintf(path, sizeof(path), "%s/libplug.so", dirname(copy));
	free(copy);
	plug->handle = dlopen(path, RTLD_NOW);
	if (!plug->handle) {
		fprintf(stderr, "victim: %s\n", dlerror());
		_exit(3);
	}
	*(void **)&plug->alloc = dlsym(plug->handle, "plug_malloc");
	*(void **)&plug->free = dlsym(plug->handle, "plug_free");
	*(void **)&plug->step_free = dlsym(plug->handle, "plug_step_free");
	plug->opens++;
	plug->allocs++;
}

static void call_plug(struct plug *plug, int n)
{
	for (int i = 0; i < n; i++) {
		void *p = plug->alloc(16 + (size_t)i);

		if (!p)
			victim_die("plug_malloc");
		plug->allocs++;
		if (i + 1 == n)
			break;
		plug->free(p);
		plug->frees++;
	}
}

static void cycle(struct plug *plug, const char *program, int n)
{
	open_plug(plug, program);
	for (int i = 0; i < n; i++) {
		plug->step_free(plug->alloc(16 + (size_t)i));
		plug->allocs++;
		plug->frees++;
	}
	dlclose(plug->handle);
}

/* @program: NULL: the plugin is open already. */
static pid_t copy(struct plug *plug, int n, const char *program)
{
	sigset_t usr1, before;
	pid_t child;
	int sig;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, &before);
	child = fork();
	if (child == 0) {
		sigwait(&usr1, &sig);
		if (program)
			open_plug(plug, program);
		call_plug(plug, n);
		_exit(0);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return child;
}

static void obey(struct plug *plug, const char *line, const char *program)
{
	int n, calls;

	if (sscanf(line, "cycles %d %d", &n, &calls) == 2)
		for (int i = 0; i < n; i++)
			cycle(plug, program, calls);
	else if (strcmp(line, "open") == 0)
		open_plug(plug, program);
	else if (strncmp(line, "call ", 5) == 0)
		call_plug(plug, atoi(line + 5));
	else if (strcmp(line, "close") == 0)
		dlclose(plug->handle);
	printf("{\"done\": true}\n");
}

int main(int argc, char **argv)
{
	struct plug plug = { 0 };
	int status = -1;
	char line[ORDER_MAX];

	(void)argc;
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (strncmp(line, "copy ", 5) == 0)
			printf("{\"child\": %d}\n", (int)copy(&plug, atoi(line + 5), NULL));
		else if (strncmp(line, "opener ", 7) == 0)
			printf("{\"child\": %d}\n", (int)copy(&plug, atoi(line + 7), argv[0]));
		else if (strcmp(line, "status") == 0 && wait(&status) > 0)
			printf("{\"status\": %d}\n", status);
		else
			obey(&plug, line, argv[0]);
		fflush(stdout);
	}
	printf("{\"allocs\": %lu, \"frees\": %lu, \"opens\": %lu}\n", plug.allocs, plug.frees, plug.opens);
	return 0;
}
