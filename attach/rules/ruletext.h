/* SPDX-License-Identifier: MIT */
/*
 * ruletext: a rule as text, one line.
 *
 *	alloc   FUNCTION [ptr=E] [also=E] [size=E] [tag=T] [if=E]... [module=GLOB] [skip=N]
 *	realloc FUNCTION [old=E] [ptr=E] [size=E] [tag=T] [if=E]... [module=GLOB] [skip=N]
 *	free    FUNCTION [ptr=E] [if=E]... [module=GLOB]
 *	protect FUNCTION [ptr=E] [size=E] [prot=E] [if=E]... [module=GLOB] [skip=N]
 *	ref     FUNCTION [obj=E] [count=E] [by=E] [if=E]... [module=GLOB] [skip=N]
 *	unref   FUNCTION [obj=E] [count=E] [by=E] [if=E]... [module=GLOB] [skip=N]
 *	from    FUNCTION	counting begins when it is entered
 *	until   FUNCTION	counting ends when it is entered
 *	in      FUNCTION	only what happens inside it counts
 *
 * Defaults: alloc ptr=ret; realloc old=arg1 ptr=ret; free ptr=arg1; protect ptr=arg1 size=arg2 prot=arg3; ref
 * and unref obj=arg1 by=1.
 *
 * FUNCTION is a name, 0xADDRESS, MODULE+0xOFFSET or MODULE@BUILDID+0xOFFSET, where
 * MODULE is a file's base name and may contain * and ?, and BUILDID the first 8 or more hex
 * digits of its build id: an offset is valid for one build only. E is an
 * expression (expr.h), T an expression or str(E), the C string at E. `ref` with obj=ret is an object's birth.
 * In a family of ranges, alloc also takes prot=E, realloc was=E and free size=E; `protect` exists only there
 * (attach/events/tally_ranges.c).
 *
 * If the rule needs the function's return (alloc, realloc, or an E with ret), all E are computed then, with
 * the arguments of the call; else they are computed when the function is entered.
 *
 * Pure: parses text, touches nothing.
 */
#ifndef MM_RULETEXT_H
#define MM_RULETEXT_H

#include "attach/rules/rule.h"

/* Parse @text into @out (family 0, not builtin). 0, or -EINVAL with @err filled. */
must_check int rule_parse(const char *text, struct rule *out, struct rule_error *err);

/*
 * Parse a FUNCTION, all of @text: sets where, name, build_id and addr of @out. 0, or -EINVAL with @err
 * filled.
 */
must_check int rule_parse_function(const char *text, size_t len, struct rule *out, struct rule_error *err);

/* The rule as text ("alloc malloc size=arg1"), without defaults; returns the length as snprintf does. */
int rule_format(const struct rule *r, char *buf, size_t n);

#endif
