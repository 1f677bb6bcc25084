/* SPDX-License-Identifier: MIT */
/*
 * rule: one line that says what to watch.
 *
 *	alloc    malloc           size=arg1
 *	alloc    calloc           size=arg1*arg2
 *	alloc    posix_memalign   ptr=*arg1 size=arg3 if=ret==0
 *	realloc  realloc          old=arg1 size=arg2
 *	free     free             ptr=arg1
 *	from     FUNCTION         counting begins when it is entered
 *	until    FUNCTION         counting ends when it is entered
 *
 * The function is a name, 0xADDRESS, or MODULE+0xOFFSET (MODULE: the file's
 * base name). Pure: parses text, touches nothing.
 */
#ifndef MM_RULE_H
#define MM_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/taddr.h"

enum rule_op { RULE_ALLOC, RULE_REALLOC, RULE_FREE, RULE_FROM, RULE_UNTIL };

enum rule_value_kind {
	VALUE_NONE,	/* not said: the default of its place */
	VALUE_RET,	/* ret */
	VALUE_ARG,	/* argA */
	VALUE_LOAD,	/* *argA, read when the function returns */
	VALUE_PRODUCT,	/* argA*argB */
};

struct rule_value {
	enum rule_value_kind kind;
	int a, b;	/* argument numbers, 1 to 6 */
};

enum rule_where { WHERE_NAME, WHERE_ADDRESS, WHERE_OFFSET };

#define RULE_NAME_MAX 128

struct rule {
	enum rule_op op;
	enum rule_where where;
	char name[RULE_NAME_MAX];	/* function (WHERE_NAME) or module (WHERE_OFFSET) */
	taddr addr;			/* WHERE_ADDRESS: runtime address; WHERE_OFFSET: offset (ELF vaddr) in the module */
	struct rule_value ptr;		/* alloc: ret by default; free: arg1 by default */
	struct rule_value size;		/* VALUE_NONE: only the allocator's own word on it */
	struct rule_value old;		/* realloc: arg1 by default */
	bool if_ret_zero;		/* if=ret==0: the result is a status; only 0 counts */
	bool builtin;			/* from the list below: not found is no error */
};

struct rule_error {
	size_t column;		/* 1-based, in the text that was parsed */
	char message[160];	/* what was expected, lower case */
};

/* Parse @text into @out. 0, or -EINVAL with @err filled. */
must_check int rule_parse(const char *text, struct rule *out, struct rule_error *err);

/* The rule as text again ("alloc malloc size=arg1"), without its defaults; the length as snprintf. */
int rule_format(const struct rule *r, char *buf, size_t n);

/* "alloc", "realloc", ... */
const char *rule_op_name(enum rule_op op);

/* The rules of the family libc, which are watched unless others are named. */
const struct rule *rule_libc(size_t *n);

#endif
