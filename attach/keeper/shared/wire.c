/* SPDX-License-Identifier: MIT */
#include "attach/keeper/shared/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int wire_send(int socket, const void *message, size_t n)
{
	ssize_t sent;

	do
		sent = send(socket, message, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return 0;
}

/* The descriptor that was sent with the message, or -1. There is no space for a second one. */
static int take_descriptor(struct msghdr *m)
{
	int fd = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len == CMSG_LEN(sizeof(fd)))
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

int wire_receive(int socket, void *buf, size_t size, int *fd)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int))];
	struct iovec v = { buf, size };
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	ssize_t n;

	*fd = -1;
	do
		n = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	if (n > 0)
		*fd = take_descriptor(&m);
	if (n > 0 && (n < (ssize_t)sizeof(struct wire_head) || m.msg_flags & MSG_TRUNC)) {
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		return -EPROTO;
	}
	return (int)n;
}
