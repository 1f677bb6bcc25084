/* SPDX-License-Identifier: MIT */
/*
 * fds: opens descriptors in every usual way, closes most of them, and leaks some, each in a function of its
 * own. Children that share its memory do the same with theirs.
 *
 * The order "go N" does everything N times and prints how many descriptors each function has leaked by then:
 * {"lose_open": 3, ...}. "close" closes what was open before the first "go", which no watch saw opened.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "victim.h"

#define OLD 5

static int listener;
/* bound without a path: the kernel gives it one */
static struct sockaddr_un name = { .sun_family = AF_UNIX };
static socklen_t name_len = sizeof(name);

static int must(int fd, const char *what)
{
	if (fd < 0)
		victim_die(what);
	return fd;
}

#define LOSER __attribute__((noinline, noclone)) static void

LOSER lose_open(void)
{
	must(open("/dev/null", O_RDONLY), "open");
}

LOSER lose_fopen(void)
{
	FILE *f = fopen("/dev/null", "r");

	escape(f);
	if (!f)
		victim_die("fopen");
}

LOSER lose_dup(void)
{
	must(dup(0), "dup");
}

LOSER lose_socket(void)
{
	must(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
}

/* One of the two ends is closed. */
LOSER lose_pipe_end(void)
{
	int ends[2];

	must(pipe2(ends, O_CLOEXEC), "pipe2");
	close(ends[0]);
}

LOSER lose_eventfd(void)
{
	must(eventfd(0, 0), "eventfd");
}

/* The client's end is closed, the server's is not. */
LOSER lose_accepted(void)
{
	int client = must(socket(AF_UNIX, SOCK_STREAM, 0), "socket");

	must(connect(client, (struct sockaddr *)&name, name_len), "connect");
	must(accept4(listener, NULL, NULL, SOCK_CLOEXEC), "accept4");
	close(client);
}

static const struct {
	const char *name;
	void (*lose)(void);
} losers[] = {
	{ "lose_open", lose_open },	{ "lose_fopen", lose_fopen },	    { "lose_dup", lose_dup },
	{ "lose_socket", lose_socket }, { "lose_pipe_end", lose_pipe_end }, { "lose_eventfd", lose_eventfd },
	{ "lose_accepted", lose_accepted },
};

#define LOSERS (sizeof(losers) / sizeof(*losers))

/* dup2 closes what was there: one call closes fd and opens it again. */
static void take_and_give(void)
{
	int pair[2], fd = must(open("/dev/null", O_WRONLY), "open");
	FILE *f = fopen("/dev/zero", "r");

	must(dup2(1, fd), "dup2");
	close(fd);
	must(pipe(pair), "pipe");
	close(pair[0]);
	close(pair[1]);
	must(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), "socketpair");
	close(pair[0]);
	close(pair[1]);
	close(must(epoll_create1(0), "epoll_create1"));
	close(must(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create"));
	close(must(memfd_create("x", 0), "memfd_create"));
	close(must(fcntl(1, F_DUPFD_CLOEXEC, 10), "fcntl"));
	if (open("/nowhere", O_RDONLY) >= 0 || close(-1) == 0)
		victim_die("what should fail did not");
	fclose(f);
}

/* A child that shares our memory closes, opens and keeps descriptors of its own. */
static void let_children_take_and_give(void)
{
	char *args[] = { "true", NULL };
	int pair[2], status;
	posix_spawn_file_actions_t actions;
	pid_t pid;

	must(pipe(pair), "pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair[1], 1);
	posix_spawn_file_actions_addclose(&actions, pair[0]);
	if (posix_spawnp(&pid, args[0], &actions, NULL, args, environ) || waitpid(pid, &status, 0) != pid)
		victim_die("posix_spawn");
	posix_spawn_file_actions_destroy(&actions);
	pid = vfork();
	if (pid == 0) {
		close(pair[0]);
		close(pair[1]);
		must(open("/dev/null", O_RDONLY), "open");
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		victim_die("vfork");
	close(pair[0]);
	close(pair[1]);
}

static void *give_and_take_aside(void *arg)
{
	(void)arg;
	take_and_give();
	return NULL;
}

static void go(unsigned long n)
{
	static unsigned long all;
	pthread_t thread;

	for (unsigned long i = 0; i < n; i++) {
		pthread_create(&thread, NULL, give_and_take_aside, NULL);
		take_and_give();
		let_children_take_and_give();
		for (size_t l = 0; l < LOSERS; l++)
			losers[l].lose();
		pthread_join(thread, NULL);
	}
	all += n;
	for (size_t l = 0; l < LOSERS; l++)
		printf("%s\"%s\": %lu", l ? ", " : "{", losers[l].name, all);
	printf("}\n");
	fflush(stdout);
}

int main(void)
{
	char line[ORDER_MAX];
	unsigned long n;
	int old[OLD];

	listener = must(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	must(bind(listener, (struct sockaddr *)&name, sizeof(name.sun_family)), "bind");
	must(getsockname(listener, (struct sockaddr *)&name, &name_len), "getsockname");
	must(listen(listener, 100), "listen");
	for (int i = 0; i < OLD; i++)
		old[i] = must(open("/dev/null", O_RDONLY), "open");
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "go %lu", &n) == 1)
			go(n);
		for (int i = 0; i < OLD && strcmp(line, "close") == 0; i++)
			close(old[i]);
		if (strcmp(line, "close") == 0) {
			printf("{\"closed\": %d}\n", OLD);
			fflush(stdout);
		}
	}
	printf("{\"ended\": true}\n");
	return 0;
}
