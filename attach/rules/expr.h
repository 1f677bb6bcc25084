/* SPDX-License-Identifier: MIT */
/*
 * expr: an expression of a rule: a value of a call.
 *
 *	arg1*arg2     *arg1     *u32(arg1+0x50)     u32(ret)     i32(ret)>=0     (*u64(arg2+8)&1)==0
 *
 * Integers (decimal, 0x), arg1..arg6, ret, loads: *E (eight bytes) and *u8(E)
 * ... *i64(E), casts u8(E) ... i64(E), unary -, ( ), and with C's precedence
 * * + - < > <= >= == != &. All in 64 bits; comparisons are signed, and give 0 or 1. No blanks.
 *
 * An expression is stored in postfix order, as it is computed: operands first, then the operator. Its loads
 * from the target's memory are moved into a list, one for all expressions of a rule, so that the code that
 * reads memory need not know expressions: an address is
 *
 *	base + index * scale + disp
 *
 * where base and index are an argument, the result, or a load before it in the list. An address of another
 * form is refused. A load whose base is 0 is not made, and gives 0.
 *
 * Pure: parses and computes, touches nothing.
 */
#ifndef MM_EXPR_H
#define MM_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum expr_op {
	EXPR_CONST, EXPR_ARG, EXPR_RET, EXPR_LOAD,
	EXPR_CAST, EXPR_NEG,
	EXPR_MUL, EXPR_ADD, EXPR_SUB, EXPR_AND, EXPR_EQ, EXPR_NE, EXPR_LT, EXPR_GT, EXPR_LE, EXPR_GE
};

struct expr_node {
	uint8_t op;		/* enum expr_op */
	uint8_t n;		/* ARG: 1 to 6; LOAD: which of the rule's loads; CAST: bits */
	bool sign;		/* CAST: the highest bit is a sign */
	int64_t value;		/* CONST */
};

#define EXPR_NODES 12

struct expr {
	uint8_t n;		/* 0: not given */
	struct expr_node nodes[EXPR_NODES];
};

#define EXPR_LOADS 4

enum expr_base {
	EXPR_BASE_NONE,
	EXPR_BASE_ARG1, EXPR_BASE_ARG2, EXPR_BASE_ARG3, EXPR_BASE_ARG4, EXPR_BASE_ARG5, EXPR_BASE_ARG6,
	EXPR_BASE_RET,
	EXPR_BASE_LOAD0, EXPR_BASE_LOAD1, EXPR_BASE_LOAD2, EXPR_BASE_LOAD3
};

/* The bits of the arguments among those of bases. */
#define EXPR_ARGUMENTS ((1U << EXPR_BASE_RET) - (1U << EXPR_BASE_ARG1))

struct expr_load {
	uint8_t base, index;	/* enum expr_base; loads only with a smaller number; index NONE: none */
	uint8_t scale;		/* of index */
	uint8_t width;		/* 1, 2, 4 or 8 bytes; 0: a C string */
	bool sign;		/* the highest bit is a sign */
	int32_t disp;
};

/* What all expressions of one rule read. */
struct expr_loads {
	struct expr_load all[EXPR_LOADS];
	uint8_t n;
	bool text;		/* one of them is a string: tag=str() */
};

/* What is known of one call. */
struct expr_values {
	uint64_t args[6];
	uint64_t ret;
	uint64_t loads[EXPR_LOADS];	/* as read; zero above their width */
	uint32_t read;			/* a bit for each load that was read, or has base 0 (and is 0 here) */
};

struct expr_error {
	size_t offset;		/* in the text, where parsing stopped */
	char message[160];	/* what was expected, lower case */
};

/* Parse all of @text; its loads are added to @loads, each only once. 0, or -EINVAL with @err filled. */
must_check int expr_parse(const char *text, size_t len, struct expr *out, struct expr_loads *loads,
			  struct expr_error *err);

/* Parse the address of a C string: @out is its load; @loads can have one. 0, or -EINVAL with @err filled. */
must_check int expr_parse_text(const char *text, size_t len, struct expr *out, struct expr_loads *loads,
			       struct expr_error *err);

/* The value of @e. false: @e was not given, or it needs a load that was not read or is a string. */
bool expr_eval(const struct expr *e, const struct expr_loads *loads, const struct expr_values *v,
	       uint64_t *out);

/* What it needs, itself or through what it loads: a bit for each enum expr_base. */
unsigned expr_sources(const struct expr *e, const struct expr_loads *loads);

/* Does it need an argument (the result)? */
bool expr_uses_args(const struct expr *e, const struct expr_loads *loads);
bool expr_uses_ret(const struct expr *e, const struct expr_loads *loads);

/* Is it just that? */
bool expr_is_arg(const struct expr *e, int n);
bool expr_is_ret(const struct expr *e);
bool expr_is_load(const struct expr *e);

bool expr_equal(const struct expr *a, const struct expr *b);

/* As text that parses to the same; str(ADDRESS) for a string. Returns the length as snprintf does. */
int expr_format(const struct expr *e, const struct expr_loads *loads, char *buf, size_t n);

#endif
