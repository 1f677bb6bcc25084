/* SPDX-License-Identifier: MIT */
#include "report/model/stack.h"

const char *summary_stack_end_name(enum summary_stack_end end)
{
	static const char *const names[] = {
#define X(upper, lower, text) #lower,
		SUMMARY_STACK_ENDS(X)
#undef X
	};

	return names[end];
}

const char *summary_stack_end_text(enum summary_stack_end end)
{
	static const char *const texts[] = {
#define X(upper, lower, text) text,
		SUMMARY_STACK_ENDS(X)
#undef X
	};

	return texts[end];
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int stack_compare(const struct stack_view *a, const struct stack_view *b)
{
	int order = 0;

	for (size_t i = 0; !order && i < a->depth && i < b->depth; i++)
		order = compare_numbers(a->frames[i].pc, b->frames[i].pc);
	return order ? order : compare_numbers(a->depth, b->depth);
}
