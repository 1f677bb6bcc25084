/* SPDX-License-Identifier: MIT */
/*
 * expraddr: has an expression the form base + index * scale + disp, which is all that the code that reads
 * memory knows? For exprparse.c only.
 */
#ifndef MM_EXPRADDR_H
#define MM_EXPRADDR_H

#include <stdbool.h>

#include "attach/rules/expr.h"

/*
 * The @n nodes at @nodes are an expression; base, index, scale and disp of @out are set. false: it is not of
 * that form.
 */
bool expraddr_of(const struct expr_node *nodes, unsigned n, const struct expr_loads *loads,
		 struct expr_load *out);

#endif
