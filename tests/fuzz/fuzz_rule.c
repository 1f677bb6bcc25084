/* SPDX-License-Identifier: MIT */
/* rule: what is parsed and written out again means the same; what is refused is refused with a place and a reason. */
#include "attach/probes/rule.h"

#include "tests/fuzz/fuzz.h"

static void round_trip(const struct rule *r)
{
	struct rule_error err;
	struct rule again;
	char text[512], twice[512], little[8];
	int n = rule_format(r, text, sizeof(text));

	promised(n > 0 && (size_t)n == strlen(text));
	promised(rule_format(r, little, sizeof(little)) == n && strlen(little) < sizeof(little));
	promised(rule_parse(text, &again, &err) == 0);
	promised(rule_format(&again, twice, sizeof(twice)) == n && !strcmp(text, twice));
	promised(again.op == r->op && again.where == r->where && again.addr == r->addr && !strcmp(again.name, r->name));
	promised(!memcmp(&again.ptr, &r->ptr, sizeof(r->ptr)) && !memcmp(&again.size, &r->size, sizeof(r->size)) &&
		 !memcmp(&again.old, &r->old, sizeof(r->old)) && again.if_ret_zero == r->if_ret_zero);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = fuzz_text(data, size);
	struct rule_error err;
	struct rule r;

	if (!text)
		return 0;
	if (rule_parse(text, &r, &err) == 0)
		round_trip(&r);
	else
		promised(err.column >= 1 && err.column <= strlen(text) + 1 && *err.message);
	return 0;
}
