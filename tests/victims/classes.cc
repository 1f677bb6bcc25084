// SPDX-License-Identifier: MIT
/*
 * classes: objects on the heap, of classes of all sorts, and blocks that only look like objects: {"name":
 * [address, size, "class"]}. The class of a block that is no object is "". With -fno-rtti the same classes
 * have no type_info.
 */
#include <cstddef>
#include <malloc.h>
#include <map>
#include <new>
#include <sstream>
#include <string>

#include "victim.h"

namespace shop {

struct Base {
	virtual ~Base() {}
	virtual int price() const { return 1; }
	long words[3] = { 1, 2, 3 };
};

struct Other {
	virtual ~Other() {}
	virtual void other() {}
	long more = 4;
};

struct Derived : Base {
	int price() const override { return 2; }
};

struct Both : Base, Other {
	int price() const override { return 3; }
};

struct Virtual : virtual Base, virtual Other {
	virtual int third() { return 3; }
	int price() const override { return 4; }
};

template <typename T, int N>
struct Box : Base {
	T t[N] = {};
	int price() const override { return N; }
};

/* No virtual function of its own, so nothing in the object shows its class. */
struct Plain {
	long a = 1, b = 2;
};

}

namespace {

struct Hidden {
	virtual ~Hidden() {}
	virtual int secret() { return 5; }
};

}

static const char *separator = "{";

static void say(const char *name, const void *p, const char *cls)
{
	printf("%s\"%s\": [%lu, %zu, \"%s\"]", separator, name, (unsigned long)p, malloc_usable_size((void *)p), cls);
	separator = ", ";
}

template <typename T>
static T *keep(T *p)
{
	escape(p);
	return p;
}

int main()
{
	struct Local {
		virtual ~Local() {}
		virtual int local() { return 6; }
	};
	char line[ORDER_MAX];
	shop::Both *both = keep(new shop::Both);
	void **block;

	say("base", keep(new shop::Base), "shop::Base");
	say("derived", keep(new shop::Derived), "shop::Derived");
	say("both", both, "shop::Both");
	say("virtual", keep(new shop::Virtual), "shop::Virtual");
	say("box", keep(new shop::Box<shop::Plain, 3>), "shop::Box<shop::Plain, 3>");
	say("hidden", keep(new Hidden), "(anonymous namespace)::Hidden");
	say("local", keep(new Local), "main::Local");
	say("plain", keep(new shop::Plain), "");
	say("array1", (char *)keep(new shop::Derived[1]) - sizeof(size_t), "shop::Derived[]");
	say("array", (char *)keep(new shop::Derived[7]) - sizeof(size_t), "shop::Derived[]");
	say("arrays", (char *)keep(new shop::Both[100]) - sizeof(size_t), "shop::Both[]");
	say("stream", keep(new std::stringbuf), "std::__cxx11::basic_stringbuf<char, std::char_traits<char>, std::allocator<char> >");
	say("string", keep(new std::string("of no class")), "");

	/* begins with the second base of an object: it is neither of that class nor of any other */
	block = (void **)calloc(1, 64);
	memcpy(block, (shop::Other *)both, sizeof(shop::Other));
	say("part", keep(block), "");
	/* a function, a constant, an address in the middle of a vtable, an address with nothing mapped */
	block = (void **)calloc(1, 64);
	block[0] = (void *)main;
	say("function", keep(block), "");
	block = (void **)calloc(1, 64);
	block[0] = (void *)"some text that is long enough";
	say("text", keep(block), "");
	block = (void **)calloc(1, 64);
	block[0] = *(char **)both + 8;
	say("middle", keep(block), "");
	block = (void **)calloc(1, 64);
	block[0] = (void *)0x1000;
	say("nothing", keep(block), "");
	block = (void **)calloc(1, 64);
	block[0] = &block[0];
	say("itself", keep(block), "");
	/* not a valid array length */
	block = (void **)calloc(1, 256);
	block[0] = (void *)3;
	block[1] = *(void **)both;
	say("no_array", keep(block), "");
	printf("}\n");
	victim_ready();
	victim_order(line);
	return 0;
}
