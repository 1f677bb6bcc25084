/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD that loses a block each time its process accepts a connection, and records each,
 * one line per block, in the file that MM_LEDGER names: the leak of a plugin, in a daemon without symbols.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES 333

__attribute__((noinline)) void *lose_at_accept(void);

__attribute__((noinline)) void *lose_at_accept(void)
{
	void *block = malloc(BYTES);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static void tell(const void *block)
{
	const char *path = getenv("MM_LEDGER");
	int ledger = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;

	if (ledger < 0)
		return;
	dprintf(ledger, "accept %p\n", block);
	close(ledger);
}

int accept(int fd, struct sockaddr *address, socklen_t *len)
{
	static int (*real)(int, struct sockaddr *, socklen_t *);
	int accepted;

	if (!real)
		real = (int (*)(int, struct sockaddr *, socklen_t *))dlsym(RTLD_NEXT, "accept");
	accepted = real(fd, address, len);
	if (accepted >= 0)
		tell(lose_at_accept());
	return accepted;
}
