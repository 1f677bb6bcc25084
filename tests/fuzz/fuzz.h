/* SPDX-License-Identifier: MIT */
/*
 * What all fuzzers share. A fuzzer is one function, in libFuzzer's form: it takes any bytes, it may damage
 * nothing, and what the parser's header promises must hold. If it does not, the fuzzer prints what is wrong
 * and aborts.
 *
 *	make check	driver.c calls it: the corpus, and mutations of it from a fixed seed
 *	make fuzz	libFuzzer calls it: mutations that reach new code, until its time is over
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert: NDEBUG must not switch it off. */
#define promised(what)								\
	do {									\
		if (!(what)) {							\
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #what); \
			abort();						\
		}								\
	} while (0)

/*
 * The input as a string in a buffer of exactly its size, so that reading past its end is seen; NULL without
 * memory.
 */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return NULL;
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

#endif
