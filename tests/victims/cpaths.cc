// SPDX-License-Identifier: MIT
/*
 * cpaths: the stacks of C++: virtual calls, templates, lambdas, std::function, exceptions thrown through many
 * frames, constructors and destructors, the library's own algorithms and containers in between.
 *
 *	walk N		N walks, then {"walks": N}
 *	keep N		N blocks of 48 bytes that a lambda in a member template leaks: Shelf<int>::fill
 */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "victim.h"

namespace paths {

struct Walk {
	uint64_t rng;
	unsigned left;
	unsigned long sum;
};

void step(Walk &w);

struct Shape {
	virtual ~Shape() = default;
	virtual void go(Walk &w) = 0;
};

template <typename T> struct Round : Shape {
	std::vector<T> keep;
	void go(Walk &w) override
	{
		keep.assign(100 + w.left, T());
		step(w);
		w.sum += keep.size();
	}
};

struct Holder {
	Walk &w;
	explicit Holder(Walk &walk) : w(walk) { step(w); }
	~Holder() { w.sum += std::string(40 + w.left, 'x').size(); }
};

static __attribute__((noinline)) void throws_somewhere(Walk &w, unsigned depth)
{
	Holder local(w);

	if (depth == 0)
		throw std::runtime_error("a message that is longer than what a string keeps in itself");
	throws_somewhere(w, depth - 1);
	w.sum++;
}

static __attribute__((noinline)) void catches(Walk &w)
{
	try {
		throws_somewhere(w, 3);
	} catch (const std::exception &e) {
		w.sum += std::string(e.what()).size();
		step(w);
	}
}

static __attribute__((noinline)) void sorts(Walk &w)
{
	std::vector<int> v = {3, 1, 2};

	std::sort(v.begin(), v.end(), [&w](int a, int b) {
		if (w.left)
			step(w);
		return a < b;
	});
	w.sum += static_cast<unsigned>(v[0]);
}

static __attribute__((noinline)) void by_function(Walk &w)
{
	std::string text(50, 'y');
	std::function<void(Walk &)> f = [text](Walk &inner) {
		inner.sum += text.size();
		step(inner);
	};

	f(w);
	w.sum++;
}

static __attribute__((noinline)) void maps(Walk &w)
{
	std::map<std::string, std::unique_ptr<int>> m;

	for (int i = 0; i < 3; i++)
		m.emplace("a key that does not fit into a small string " + std::to_string(i), std::make_unique<int>(i));
	step(w);
	w.sum += m.size();
}

static __attribute__((noinline)) void by_thread(Walk &w)
{
	Walk other = w;

	other.left = w.left > 3 ? 3 : w.left;
	std::thread([&other] { step(other); }).join();
	w.sum += other.sum;
}

static __attribute__((noinline)) void by_virtual(Walk &w)
{
	std::unique_ptr<Shape> s;

	if (w.rng & 1)
		s = std::make_unique<Round<long>>();
	else
		s = std::make_unique<Round<std::string>>();
	s->go(w);
}

void __attribute__((noinline)) step(Walk &w)
{
	static void (*const steps[])(Walk &) = {catches, sorts, by_function, maps, by_thread, by_virtual};

	if (w.left == 0) {
		std::string leaf(100, 'z');

		w.sum += leaf.size();
		return;
	}
	w.left--;
	steps[victim_random(&w.rng) % (sizeof(steps) / sizeof(steps[0]))](w);
	w.sum++;
}

template <typename T> struct Shelf {
	template <typename F> __attribute__((noinline)) void fill(unsigned n, F make)
	{
		for (unsigned i = 0; i < n; i++)
			make(T(i));
	}
};

} // namespace paths

static volatile unsigned kept;

static __attribute__((noinline)) void keep(unsigned n)
{
	paths::Shelf<int> shelf;

	shelf.fill(n, [](int i) __attribute__((noinline)) {
		char *p = new char[48];

		p[0] = static_cast<char>(i);
		escape(p);
	});
	kept += n; /* not a tail call, so that this function has a frame */
}

int main()
{
	paths::Walk w = {0x9e3779b97f4a7c15u, 0, 0};
	char line[ORDER_MAX];
	unsigned n;

	victim_ready();
	while (strcmp(victim_order(line), "end")) {
		if (sscanf(line, "walk %u", &n) == 1) {
			for (unsigned i = 0; i < n; i++) {
				w.left = 1 + victim_random(&w.rng) % 8;
				paths::step(w);
			}
		} else if (sscanf(line, "keep %u", &n) == 1) {
			keep(n);
		} else {
			return 2;
		}
		printf("{\"walks\": %u}\n", n);
		fflush(stdout);
	}
	puts("{}");
	return 0;
}
