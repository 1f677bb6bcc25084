/* SPDX-License-Identifier: MIT */
/*
 * code_page: a page of code of our own, accessed as the keeper accesses the target's, through /proc/PID/mem.
 * "The file" is a copy of its original contents.
 *
 * After every step the whole page is compared, not only the byte in question: a byte written in the wrong
 * place kills a target.
 */
#ifndef MM_CODE_PAGE_H
#define MM_CODE_PAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/keeper/procfs.h"
#include "base/taddr.h"

#define PAGE 4096u
#define INT3 0xcc

static uint8_t *page;		/* executable, not writable, as code is; no mapping on either side */
static uint8_t file[PAGE];	/* the contents of the file */
static int mem;

static inline taddr at(uint32_t offset)
{
	return (taddr)(uintptr_t)page + offset;
}

static inline void map_page(const uint8_t *content)
{
	assert_ptr_equal(mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			      0),
			 page);
	memcpy(page, content, PAGE);
	assert_int_equal(mprotect(page, PAGE, PROT_READ | PROT_EXEC), 0);
}

/* Other code for each test, but the same in every run. */
static inline void new_file(unsigned seed)
{
	srandom(seed);
	for (uint32_t i = 0; i < PAGE; i++)
		do
			file[i] = (uint8_t)random();
		while (file[i] == INT3);
	map_page(file);
}

static inline int open_page(void **state)
{
	uint8_t *area = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	mem = procfs_open_mem(getpid());
	page = area + PAGE;
	return area == MAP_FAILED || mem < 0;
}

static inline int close_page(void **state)
{
	(void)state;
	return close(mem);
}

#endif
