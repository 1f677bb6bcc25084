/* SPDX-License-Identifier: MIT */
/*
 * cxxlosses: what C++ leaks and what it still points to: objects with bases, arrays with destructors, the
 * containers (losses.h).
 *
 * The blocks are those of operator new, which is our own: it prints each under the name of the site that asks
 * for it. What the library gets from malloc itself belongs to no site.
 */
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "losses.h"

static thread_local const char *site;

static NOINLINE void *told_block(void *p, size_t size)
{
	if (!p)
		victim_die("malloc");
	memset(p, 0, size);
	if (site)
		losses_tell(site, p, size);
	return p;
}

void *operator new(size_t size)
{
	return told_block(malloc(size), size);
}

void *operator new[](size_t size)
{
	return told_block(malloc(size), size);
}

void *operator new(size_t size, std::align_val_t alignment)
{
	return told_block(aligned_alloc((size_t)alignment, size), size);
}

void operator delete(void *p) noexcept
{
	free(p);
}

void operator delete(void *p, size_t) noexcept
{
	free(p);
}

void operator delete(void *p, std::align_val_t) noexcept
{
	free(p);
}

void operator delete(void *p, size_t, std::align_val_t) noexcept
{
	free(p);
}

void operator delete[](void *p) noexcept
{
	free(p);
}

void operator delete[](void *p, size_t) noexcept
{
	free(p);
}

/*
 * All blocks that BODY asks for belong to NAME. extern "C": the name in a stack is the plain function name.
 */
#define CXX_SITE(name, ...)					\
	extern "C" NOINLINE void site_##name()			\
	{							\
		site = #name;					\
		__VA_ARGS__;					\
		site = nullptr;					\
		__asm__ volatile("" : : : "memory");		\
	}

static NOINLINE void lose(void *p)
{
	escape(p);
}

static const char words[] = "long enough to be in a block of its own";

void *held[32];

/* --- objects --- */

struct first {
	virtual ~first() {}
	virtual int one() { return 1; }
	long a = 1;
};

struct second {
	virtual ~second() {}
	virtual int two() { return 2; }
	long b = 2;
};

struct plain {
	long c = 3, d = 4;
};

struct both : first, second {
	int one() override { return 11; }
	int two() override { return 22; }
	long e = 5;
};

struct first_and_plain : first, plain {
};

struct common {
	virtual ~common() {}
	virtual int all() { return 0; }
	long f = 6;
};

struct left : virtual common {
	long g = 7;
};

struct right : virtual common {
	long h = 8;
};

struct diamond : left, right {
	int all() override { return 9; }
};

struct named {
	std::string name = words;
};

struct destroyed {
	~destroyed() { lose(p); }
	void *p = nullptr;
	long n[3] = { 1, 2, 3 };
};

struct alignas(64) wide {
	long n[8] = { 1 };
};

CXX_SITE(object_lost, lose(new first))
CXX_SITE(object_held, held[0] = new first)
CXX_SITE(second_base_held, held[1] = static_cast<second *>(new both))
CXX_SITE(plain_base_held, held[2] = static_cast<plain *>(new first_and_plain))
CXX_SITE(virtual_base_held, held[3] = static_cast<common *>(new diamond))
CXX_SITE(second_base_lost, second **p = new second *; *p = new both; lose(p))
CXX_SITE(named_lost, lose(new named))
CXX_SITE(named_held, held[4] = new named)
CXX_SITE(short_string_lost, lose(new std::string("short")))
CXX_SITE(array_held, held[5] = new destroyed[7])
CXX_SITE(array_lost, lose(new destroyed[7]))
CXX_SITE(array_plain_held, held[6] = new plain[7])
CXX_SITE(array_of_strings_held, held[7] = new std::string[3]{ words, words, "short" })
CXX_SITE(wide_held, held[8] = new wide)
CXX_SITE(wide_lost, lose(new wide))

/* --- containers --- */

static std::string global_string;
static std::vector<std::unique_ptr<named>> global_vector;
static std::map<int, std::string> global_map;
static std::list<named> global_list;
static std::deque<long> global_deque;
static std::unordered_map<std::string, int> global_unordered;
static std::shared_ptr<named> global_shared;
static std::function<int()> global_function;
static thread_local std::vector<int> local_vector;

template <class map> static void fill_map(map &m)
{
	for (int i = 0; i < 20; i++)
		m[i] = words;
}

CXX_SITE(string_held, global_string = words)
CXX_SITE(vector_held, for (int i = 0; i < 10; i++) global_vector.push_back(std::make_unique<named>()))
CXX_SITE(map_held, fill_map(global_map))
CXX_SITE(list_held, for (int i = 0; i < 5; i++) global_list.emplace_back())
CXX_SITE(deque_held, for (int i = 0; i < 1000; i++) global_deque.push_back(i))
CXX_SITE(unordered_held, for (int i = 0; i < 30; i++) global_unordered[words + std::to_string(i)] = i)
CXX_SITE(shared_held, global_shared = std::make_shared<named>())
CXX_SITE(local_held, local_vector.resize(100))

extern "C" NOINLINE void site_function_held()
{
	long a[8] = { 1, 2, 3 };

	site = "function_held";
	global_function = [a] { return (int)a[1]; };
	site = nullptr;
}

CXX_SITE(vector_lost, auto *v = new std::vector<std::string>; for (int i = 0; i < 5; i++) v->push_back(words); lose(v))
CXX_SITE(map_lost, auto *m = new std::map<int, std::string>; fill_map(*m); lose(m))
CXX_SITE(list_lost, auto *l = new std::list<named>; for (int i = 0; i < 5; i++) l->emplace_back(); lose(l))
CXX_SITE(deque_lost, auto *d = new std::deque<long>; for (int i = 0; i < 1000; i++) d->push_back(i); lose(d))
CXX_SITE(unordered_lost, auto *u = new std::unordered_map<int, std::string>; fill_map(*u); lose(u))
CXX_SITE(shared_lost, auto *s = new std::shared_ptr<named>(std::make_shared<named>()); lose(s))
CXX_SITE(unique_released, auto u = std::make_unique<named>(); lose(u.release()))

/*
 * A pointer to the object within its control block: for one class it points to a vtable, for the other it
 * does not.
 */
CXX_SITE(shared_by_object, auto *s = new std::shared_ptr<first>(std::make_shared<first>()); held[9] = s->get(); lose(s))
CXX_SITE(shared_by_plain, auto *s = new std::shared_ptr<plain>(std::make_shared<plain>()); held[10] = s->get(); lose(s))

/* Two objects that point to each other. */
struct mutual {
	std::shared_ptr<mutual> other;
};

extern "C" NOINLINE void site_cycle_lost()
{
	site = "cycle_lost";
	{
		auto a = std::make_shared<mutual>(), b = std::make_shared<mutual>();

		a->other = b;
		b->other = a;
	}
	site = nullptr;
}

/* --- threads, exceptions --- */

static int asleep;

extern "C" NOINLINE void site_in_thread()
{
	site = "in_thread";
	std::unique_ptr<named> mine = std::make_unique<named>();
	site = nullptr;
	__atomic_fetch_add(&asleep, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

extern "C" NOINLINE void site_thread_state()
{
	site = "thread_state";
	std::thread(site_in_thread).detach();
	site = nullptr;
}

static std::exception_ptr global_exception;

static NOINLINE void throw_and_keep()
{
	try {
		throw std::string("thrown");
	} catch (...) {
		global_exception = std::current_exception();
	}
}

static void wait_for_thread()
{
	struct timespec t = { 0, 1000000 };

	for (int i = 0; i < 20000 && !__atomic_load_n(&asleep, __ATOMIC_SEQ_CST); i++)
		nanosleep(&t, nullptr);
	if (!asleep)
		victim_die("the thread does not sleep");
}

static NOINLINE void lose_and_hold()
{
	static void (*const sites[])() = {
		site_object_lost, site_object_held, site_second_base_held, site_plain_base_held, site_virtual_base_held, site_second_base_lost,
		site_named_lost, site_named_held, site_short_string_lost, site_array_held, site_array_lost, site_array_plain_held,
		site_array_of_strings_held, site_wide_held, site_wide_lost, site_string_held, site_vector_held, site_map_held, site_list_held,
		site_deque_held, site_unordered_held, site_shared_held, site_local_held, site_function_held, site_vector_lost, site_map_lost,
		site_list_lost, site_deque_lost, site_unordered_lost, site_shared_lost, site_unique_released, site_shared_by_object,
		site_shared_by_plain, site_cycle_lost, site_thread_state,
	};

	for (void (*s)() : sites)
		s();
}

int main()
{
	lose_and_hold();
	throw_and_keep();
	wait_for_thread();
	losses_forget();
	losses_wait();
	return 0;
}
