/* SPDX-License-Identifier: MIT */
/*
 * nearest: of some names, the one that was probably meant by a word that is none of them.
 *
 *	struct nearest near = nearest_to("reprot", 6);
 *
 *	nearest_try(&near, "report", 6);
 *	nearest_try(&near, "repair", 6);
 *	near.len		6, of near.name: "report"
 *
 * A letter that is wrong, missing or too many is an error, and so are two that are exchanged. A name is near
 * if the word has one error, or one more for each six letters, or is its beginning. Of equally near names the
 * first is taken.
 */
#ifndef MM_NEAREST_H
#define MM_NEAREST_H

#include <stddef.h>

struct nearest {
	const char *word;
	size_t word_len;
	size_t errors;		/* fewer than these are nearer */
	const char *name;	/* so far; points to what nearest_try was given. NULL: none is near */
	size_t len;
};

struct nearest nearest_to(const char *word, size_t len);
void nearest_try(struct nearest *near, const char *name, size_t len);

/* Errors in @a, of @na letters, if @b was meant; SIZE_MAX if one is longer than 31 letters. */
size_t nearest_errors(const char *a, size_t na, const char *b, size_t nb);

#endif
