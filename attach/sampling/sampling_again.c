/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_again.h"

#include "attach/sampling/sampling_targets.h"

void sampling_again_init(struct sampling_again *a)
{
	*a = (struct sampling_again){ 0 };
	addrmap_init(&a->stacks, sizeof(uint32_t));
}

void sampling_again_fini(struct sampling_again *a)
{
	addrmap_fini(&a->stacks);
}

static uint64_t path_of(uint32_t site, uint32_t above)
{
	return (uint64_t)site << 32 | above;
}

int sampling_again_learn(struct sampling_again *a, uint32_t site, uint32_t above, uint32_t stack)
{
	return addrmap_put(&a->stacks, path_of(site, above), &stack);
}

uint32_t sampling_again_stack(const struct sampling_again *a, uint32_t site, uint32_t above)
{
	const uint32_t *stack = addrmap_get(&a->stacks, path_of(site, above));

	return stack ? *stack : SAMPLING_NONE;
}

/* Another target's result may be the same block, seen once more on its way to the caller. */
static struct sampling_given *find(struct sampling_again *a, taddr addr, uint32_t target)
{
	for (uint32_t i = 0; i < SAMPLING_GIVEN; i++)
		if (a->given[i].addr == addr && a->given[i].target == target)
			return &a->given[i];
	return NULL;
}

uint32_t sampling_again_see(struct sampling_again *a, taddr addr, uint32_t target, uint32_t stack, uint64_t now_ns)
{
	const struct sampling_given its = { .addr = addr, .at_ns = now_ns, .target = target, .stack = stack };
	struct sampling_given *known = find(a, addr, target);
	uint32_t freed = SAMPLING_NONE;

	if (known && now_ns - known->at_ns <= SAMPLING_AGAIN_NS)
		freed = known->stack;
	if (known)
		*known = (struct sampling_given){ 0 };
	a->given[a->next] = its;
	a->next = (a->next + 1) % SAMPLING_GIVEN;
	return freed;
}
