/* SPDX-License-Identifier: MIT */
/*
 * plus: a little C++ with its debug information, a seed of fuzz_names: namespaces,
 * templates, inlined functions, a lambda. It is never run.
 */
#define keep __attribute__((noipa))

namespace shop {

template <typename T> struct Box {
	T value;
	int weight(int n) const { return n > 1 ? value.weight() * n + weight(n - 1) : value.weight(); }
};

namespace {

struct Stone {
	int grams;
	int weight() const { return grams; }
};

template <typename F> int apply(F f, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += f(i);
	return sum;
}

}

keep int total(int n)
{
	Box<Stone> box { { n } };

	return apply([&](int i) { return box.weight(i & 3) + i; }, n);
}

}

extern "C" keep int plus(int a, int b)
{
	return shop::total(a) + shop::total(b);
}
