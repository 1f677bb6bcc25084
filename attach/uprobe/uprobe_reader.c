/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEADER 8u
#define BUSY (1u << 31)
#define DISCARDED (1u << 30)

int uprobe_reader_init(struct uprobe_reader *r, int fd, size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	*r = (struct uprobe_reader){ .size = size };
	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	r->consumer = p;
	p = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (p == MAP_FAILED)
		return -errno;
	r->producer = p;
	r->data = (const uint8_t *)p + page;
	return 0;
}

void uprobe_reader_fini(struct uprobe_reader *r)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (r->consumer)
		munmap(r->consumer, page);
	if (r->producer)
		munmap((void *)(uintptr_t)r->producer, page + 2 * r->size);
	*r = (struct uprobe_reader){ 0 };
}

static size_t space_of(uint32_t length)
{
	return (HEADER + (length & ~(BUSY | DISCARDED)) + 7) / 8 * 8;
}

static void advance(struct uprobe_reader *r, size_t by)
{
	__atomic_store_n(r->consumer, *r->consumer + by, __ATOMIC_RELEASE);
}

const void *uprobe_reader_peek(struct uprobe_reader *r, size_t *n)
{
	while (*r->consumer < uprobe_reader_written(r)) {
		const uint8_t *at = r->data + (*r->consumer & (r->size - 1));
		const uint32_t length = __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);

		if (length & BUSY)
			return NULL;
		if (!(length & DISCARDED)) {
			*n = length;
			return at + HEADER;
		}
		advance(r, space_of(length));
	}
	return NULL;
}

void uprobe_reader_consume(struct uprobe_reader *r, size_t n)
{
	advance(r, space_of((uint32_t)n));
}

uint64_t uprobe_reader_read(const struct uprobe_reader *r)
{
	return *r->consumer;
}

uint64_t uprobe_reader_written(const struct uprobe_reader *r)
{
	return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
}
