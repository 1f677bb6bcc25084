/* SPDX-License-Identifier: MIT */
/*
 * ruletext: a rule as text, one line.
 *
 *	alloc   FUNCTION [ptr=E] [also=E] [size=E] [tag=T] [if=E]... [module=GLOB] [skip=N]		ptr: ret
 *	realloc FUNCTION [old=E] [ptr=E] [size=E] [tag=T] [if=E]... [module=GLOB] [skip=N]	old: arg1, ptr: ret
 *	free    FUNCTION [ptr=E] [if=E]... [module=GLOB]					ptr: arg1
 *	protect FUNCTION [ptr=E] [size=E] [prot=E] [if=E]... [module=GLOB] [skip=N]	ptr: arg1, size: arg2, prot: arg3
 *	ref     FUNCTION [obj=E] [count=E] [by=E] [if=E]... [module=GLOB] [skip=N]		obj: arg1, by: 1
 *	unref   FUNCTION [obj=E] [count=E] [by=E] [if=E]... [module=GLOB] [skip=N]		the same
 *	from    FUNCTION	counting begins when it is entered
 *	until   FUNCTION	counting ends when it is entered
 *	in      FUNCTION	only what happens inside it counts
 *
 * FUNCTION is a name, 0xADDRESS, MODULE+0xOFFSET or MODULE@BUILDID+0xOFFSET, where
 * MODULE is a file's base name and may hold * and ?, and BUILDID the first 8 or more hex
 * digits of its build id: what is said by an offset holds for one build only. E is an
 * expression (expr.h), T an expression or str(E), the C string at E. `ref` with obj=ret is an object's birth.
 * In a family of ranges alloc also takes prot=E, realloc was=E and free size=E; `protect` is there only (attach/events/tally_ranges.c).
 *
 * All E are computed when the function returns if the rule needs that (alloc, realloc,
 * or one of them says ret), with the arguments it was called with; else when it is entered.
 *
 * Pure: parses text, touches nothing.
 */
#ifndef MM_RULETEXT_H
#define MM_RULETEXT_H

#include "attach/rules/rule.h"

/* Parse @text into @out (family 0, not builtin). 0, or -EINVAL with @err filled. */
must_check int rule_parse(const char *text, struct rule *out, struct rule_error *err);

/* A FUNCTION alone, all of @text: where, name, build_id and addr of @out are set. 0, or -EINVAL with @err filled. */
must_check int rule_parse_function(const char *text, size_t len, struct rule *out, struct rule_error *err);

/* The rule as text again ("alloc malloc size=arg1"), without its defaults; the length as snprintf. */
int rule_format(const struct rule *r, char *buf, size_t n);

#endif
