/* SPDX-License-Identifier: MIT */
/*
 * transfers: threads in the middle of moving bytes: large writes to a pipe and to a socket, receives that ask
 * for all bytes, and for each a slow thread at the other end. Only a signal can make these calls move fewer
 * bytes than asked.
 *
 * "end" prints {"full": calls that moved all, "short": calls that did not, by kind}.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "victim.h"

#define WHOLE (1u << 20)
#define BIT 16384

static atomic_bool over;

static ssize_t by_write(int fd, char *buf)
{
	return write(fd, buf, WHOLE);
}

static ssize_t by_writev(int fd, char *buf)
{
	const struct iovec two[2] = { { buf, WHOLE / 2 }, { buf + WHOLE / 2, WHOLE / 2 } };

	return writev(fd, two, 2);
}

static ssize_t by_send(int fd, char *buf)
{
	return send(fd, buf, WHOLE, MSG_NOSIGNAL);
}

static ssize_t by_recv(int fd, char *buf)
{
	return recv(fd, buf, WHOLE, MSG_WAITALL);
}

static ssize_t by_recvmsg(int fd, char *buf)
{
	struct iovec one = { buf, WHOLE };
	struct msghdr msg = { .msg_iov = &one, .msg_iovlen = 1 };

	return recvmsg(fd, &msg, MSG_WAITALL);
}

static struct kind {
	const char *name;
	ssize_t (*move)(int fd, char *buf);
	bool receives, pipe;
	int mine, other;
	char *buf;
	atomic_ulong full, fewer;
} kinds[] = {
	{ .name = "write", .move = by_write, .pipe = true },
	{ .name = "writev", .move = by_writev, .pipe = true },
	{ .name = "send", .move = by_send },
	{ .name = "recv", .move = by_recv, .receives = true },
	{ .name = "recvmsg", .move = by_recvmsg, .receives = true },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static void *mover(void *arg)
{
	struct kind *k = arg;

	for (;;) {
		ssize_t n = k->move(k->mine, k->buf);

		if (atomic_load(&over))
			return NULL;
		atomic_fetch_add(n == (ssize_t)WHOLE ? &k->full : &k->fewer, 1);
	}
}

static void *slow_peer(void *arg)
{
	struct kind *k = arg;
	char bit[BIT];

	memset(bit, 1, sizeof(bit));
	for (;;) {
		if (k->receives)
			(void)!send(k->other, bit, sizeof(bit), MSG_NOSIGNAL);
		else
			(void)!read(k->other, bit, sizeof(bit));
		usleep(500);
	}
	return NULL;
}

static void start(struct kind *k)
{
	pthread_t thread;
	int ends[2];

	if (k->pipe ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		victim_die("pipe");
	k->mine = ends[1];
	k->other = ends[0];
	k->buf = calloc(1, WHOLE);
	if (!k->buf || pthread_create(&thread, NULL, slow_peer, k) || pthread_create(&thread, NULL, mover, k))
		victim_die("pthread_create");
}

int main(void)
{
	char line[ORDER_MAX];

	for (size_t i = 0; i < KINDS; i++)
		start(&kinds[i]);
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		;
	atomic_store(&over, true);
	for (int full = 1; full >= 0; full--) {
		printf("%s{", full ? "{\"full\": " : ", \"short\": ");
		for (size_t i = 0; i < KINDS; i++)
			printf("%s\"%s\": %lu", i ? ", " : "", kinds[i].name,
			       atomic_load(full ? &kinds[i].full : &kinds[i].fewer));
		printf("}");
	}
	printf("}\n");
	fflush(stdout);
	_exit(0);
}
