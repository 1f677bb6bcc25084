/* SPDX-License-Identifier: MIT */
/*
 * wrappers: see wrappers.h. C functions are known by name, from the lists below; the C++ and Rust libraries
 * as a whole, by their namespaces: a user whose program grows a std::vector looks for the code that does so,
 * not for the vector's. But where a library calls back, the user's code may be compiled into a library
 * function and appear under its name: such functions are shown, unless they are known only to hold what
 * they are given (std::function's own, push_back).
 *
 * The linkage name decides if it is known. A demangled name may begin with the return type ("std::string
 * name::of<int>(int)"), so the function's own part of it is looked for.
 */
#include "report/names/wrappers.h"

#include <stdbool.h>
#include <string.h>

#include "base/strbuf.h"
#include "report/names/shortname.h"

/* Allocators proper, for the case that one is built on another, or maps memory from the kernel. */
static const char *const allocators[] = {
	"malloc",	 "calloc",	   "realloc",	 "reallocarray", "memalign",
	"aligned_alloc", "posix_memalign", "valloc",	 "pvalloc",	 "je_malloc",
	"je_calloc",	 "je_realloc",	   "tc_malloc",	 "tc_calloc",	 "tc_realloc",
	"mi_malloc",	 "mi_calloc",	   "mi_realloc", "mallocx",	 "rallocx",
};

static const char *const c_functions[] = {
	/* the C library */
	"strdup",
	"strndup",
	"wcsdup",
	"asprintf",
	"vasprintf",
	"asprintf_chk",
	"vasprintf_chk",
	"vasprintf_internal",
	/* below these */
	"vfprintf_internal",
	"IO_default_xsputn",
	"IO_padn",
	"IO_str_overflow",
	"obstack_begin",
	"obstack_begin_1",
	"obstack_begin_worker",
	"obstack_newchunk",
	"getline",
	"getdelim",
	"IO_getdelim",
	/* gnulib, busybox, Open vSwitch, git, ... */
	"xmalloc",
	"xcalloc",
	"xzalloc",
	"xrealloc",
	"xreallocarray",
	"xnmalloc",
	"xnrealloc",
	"x2realloc",
	"x2nrealloc",
	"xstrdup",
	"xstrndup",
	"xmemdup",
	"xmemdup0",
	"xmemdupz",
	"xasprintf",
	"xvasprintf",
	"xmallocz",
	"xmallocarray",
	"xmalloc_cacheline",
	"xzalloc_cacheline",
	"xmalloc_pagealign",
	"xmalloc_size_align",
	"xvmalloc",
	/* glib */
	"g_malloc",
	"g_malloc0",
	"g_realloc",
	"g_try_malloc",
	"g_try_malloc0",
	"g_try_realloc",
	"g_malloc_n",
	"g_malloc0_n",
	"g_realloc_n",
	"g_try_malloc_n",
	"g_try_malloc0_n",
	"g_try_realloc_n",
	"g_strdup",
	"g_strndup",
	"g_strdup_printf",
	"g_strdup_vprintf",
	"g_vasprintf",
	"g_strconcat",
	"g_memdup",
	"g_memdup2",
	"g_slice_alloc",
	"g_slice_alloc0",
	"g_slice_copy",
	"g_aligned_alloc",
	"g_aligned_alloc0",
	/* servers and libraries with functions of their own */
	"gf_malloc",
	"gf_calloc",
	"gf_realloc",
	"gf_strdup",
	"gf_strndup",
	"gf_memdup",
	"gf_asprintf",
	"gf_vasprintf",
	"gsh_malloc",
	"gsh_calloc",
	"gsh_realloc",
	"gsh_strdup",
	"gsh_strldup",
	"gsh_memdup",
	"gsh_malloc_aligned",
	"rte_malloc",
	"rte_malloc_socket",
	"rte_zmalloc",
	"rte_zmalloc_socket",
	"rte_calloc",
	"rte_calloc_socket",
	"rte_realloc",
	"zmalloc",
	"zcalloc",
	"zrealloc",
	"ztrymalloc",
	"ztrycalloc",
	"ztryrealloc",
	"zmalloc_usable",
	"zcalloc_usable",
	"zrealloc_usable",
	"ztrymalloc_usable",
	"ztrycalloc_usable",
	"ztryrealloc_usable",
	"zcalloc_num",
	"zstrdup",
	"ngx_alloc",
	"ngx_calloc",
	"ngx_memalign",
	"ngx_palloc",
	"ngx_pcalloc",
	"my_malloc",
	"my_realloc",
	"my_strdup",
	"my_strndup",
	"my_memdup",
	"my_multi_malloc",
	"init_alloc_root",
	"init_sql_alloc",
	"alloc_root",
	"multi_alloc_root",
	"memdup_root",
	"strdup_root",
	"strmake_root",
	"apr_palloc",
	"apr_pcalloc",
	"CRYPTO_malloc",
	"CRYPTO_zalloc",
	"CRYPTO_realloc",
	"CRYPTO_strdup",
	"CRYPTO_strndup",
	"CRYPTO_memdup",
	"PyMem_Malloc",
	"PyMem_Calloc",
	"PyMem_Realloc",
	"PyMem_RawMalloc",
	"PyMem_RawCalloc",
	"PyMem_RawRealloc",
	"PyObject_Malloc",
	"PyObject_Calloc",
	"PyObject_Realloc",
	/* Rust's functions between the program and its allocator */
	"rust_alloc",
	"rust_alloc_zeroed",
	"rust_realloc",
	"rdl_alloc",
	"rdl_alloc_zeroed",
	"rdl_realloc",
	"rg_alloc",
	"rg_alloc_zeroed",
	"rg_realloc",
};

/* Files that contain nothing but an allocator. */
static const char *const allocator_files[] = { "libjemalloc", "libtcmalloc", "libmimalloc" };

/* Files that execute scripts: what they allocate is allocated by the line that is executed. */
static const char *const interpreters[] = { "python3", "libpython3", "ruby", "libruby" };

static const char *const operator_new[] = { "_Znw", "_Zna" };

/*
 * operator new; namespace std, also the abbreviations of std::allocator, std::string and streams; __gnu_cxx.
 */
static const char *const cxx_linkage[] = {
	"_Znw",	  "_Zna",  "_ZNSt",  "_ZNKSt", "_ZSt",	"_ZNSa",	 "_ZNKSa",	   "_ZNSs",
	"_ZNKSs", "_ZNSb", "_ZNKSb", "_ZNSo",  "_ZNSi", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx",
};

static const char *const cxx_readable[] = { "operator new", "std::", "__gnu_cxx::" };

/* A C++ program may well have a namespace "core" of its own, so these count only for Rust code. */
static const char *const rust_readable[] = {
	"alloc::", "core::", "hashbrown::",  "__rustc::",     "<alloc::",
	"<core::", "<std::", "<hashbrown::", "<T as alloc::",
};

static const char *const callbacks[] = { "_invoke", "_Invoke", "_M_run", "{lambda", "{closure", "UlvE" };

/*
 * They store or copy the function object that is in their name, and do not call it: std::function,
 * containers, threads.
 */
static const char *const holders[] = {
	"_M_create",	   "_M_init_functor",	 "_M_manager",	      "_M_clone",	 "function",
	"thread",	   "_S_make_state",	 "make_shared",	      "allocate_shared", "make_unique",
	"push_back",	   "emplace_back",	 "emplace",	      "insert",		 "allocate",
	"operator=",	   "_M_realloc_insert", "_M_realloc_append", "_M_insert_aux", "_M_allocate", "construct",
};

#define ALLOCATOR_DEPTH 32	/* frames in the allocator, at most */
/* names end so */
static const char *const own_allocators[] = {
	"malloc", "calloc", "realloc", "strdup", "strndup", "memdup", "mem_alloc", "MemAlloc",
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool begins_with_any(const char *name, const char *const *starts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

static size_t strip(const char *name, size_t n, const char *end)
{
	size_t len = strlen(end);

	return n > len && !memcmp(name + n - len, end, len) ? n - len : n;
}

/*
 * C libraries decorate names: __strdup, __GI___strdup, strdup.part.0, xmalloc__ and strdup@plt are strdup and
 * xmalloc. @n: length of the bare name.
 */
static const char *bare(const char *name, size_t *n)
{
	name += strncmp(name, "__GI_", 5) ? 0 : 5;
	name += strncmp(name, "__libc_", 7) ? 0 : 7;
	name += strspn(name, "_");
	*n = strip(name, strcspn(name, ".@ "), "__");
	return name;
}

static bool is_one_of(const char *name, const char *const *list, size_t nlist)
{
	size_t n;

	name = bare(name, &n);
	for (size_t i = 0; i < nlist; i++)
		if (strlen(list[i]) == n && !memcmp(name, list[i], n))
			return true;
	return false;
}

static bool is_allocator(const char *name)
{
	return is_one_of(name, allocators, COUNT(allocators));
}

/* A program's own: mosquitto__malloc, qcalloc, jv_mem_alloc, av_strdup. What ends in alloc alone may make objects. */
static bool is_like_allocator(const char *name)
{
	size_t n;

	name = bare(name, &n);
	for (size_t i = 0; i < COUNT(own_allocators); i++)
		if (strip(name, n, own_allocators[i]) < n)
			return true;
	return false;
}

static bool is_c_function(const char *name)
{
	return is_allocator(name) || is_one_of(name, c_functions, COUNT(c_functions)) || is_like_allocator(name);
}

static bool opens(char c)
{
	return c == '<' || c == '(' || c == '[' || c == '{';
}

static bool closes(const char *name, const char *p)
{
	return *p == ')' || *p == ']' || *p == '}' || (*p == '>' && (p == name || p[-1] != '-'));
}

/*
 * What follows the last blank outside of brackets and before the parameters: "void std::f<int>(char)" gives
 * "std::f<int>(char)".
 */
static const char *own_part(const char *name)
{
	const char *start = name;
	int depth = 0;

	for (const char *p = name; *p; p++) {
		if (!depth && (!strncmp(p, "operator", 8) || *p == '('))
			break;
		depth += opens(*p) ? 1 : closes(name, p) && depth ? -1 : 0;
		if (!depth && *p == ' ')
			start = p + 1;
	}
	return start;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = text ? strlen(text) : 0, len = strlen(end);

	return n >= len && !strcmp(text + n - len, end);
}

/* v0 mangling begins with _R; a legacy name ends with a hash of sixteen digits. */
static bool is_rust(const struct summary_frame *f, const char *linkage)
{
	size_t n = strlen(linkage);

	return !strncmp(linkage, "_R", 2) || (n > 20 && !strncmp(linkage + n - 20, "17h", 3)) ||
	       ends_with(f->file, ".rs");
}

/*
 * What was inlined may have no name but its own, without a namespace: "_M_create<serve()::<lambda()> >". Of
 * what it calls back there is then a frame, too.
 */
static bool is_of_library_header(const struct summary_frame *f)
{
	return f->inlined && !f->linkage && f->file &&
	       (strstr(f->file, "/include/c++/") || strstr(f->file, "/c++/v1/"));
}

static bool is_of_a_library(const struct summary_frame *f, const char *linkage)
{
	const char *own = own_part(f->function ? f->function : "");

	return is_of_library_header(f) || begins_with_any(linkage, cxx_linkage, COUNT(cxx_linkage)) ||
	       begins_with_any(own, cxx_readable, COUNT(cxx_readable)) ||
	       strstr(own, "::operator new(") || strstr(own, "::operator new[](") ||
	       (is_rust(f, linkage) && begins_with_any(own, rust_readable, COUNT(rust_readable)));
}

bool wrappers_is_of_library(const struct summary_frame *f)
{
	const char *linkage = f->linkage ? f->linkage : f->function;

	return linkage && is_of_a_library(f, linkage) &&
	       !strstr(own_part(f->function ? f->function : ""), "operator new");
}

static bool calls_back(const char *name)
{
	for (size_t i = 0; i < COUNT(callbacks); i++)
		if (strstr(name, callbacks[i]))
			return true;
	return false;
}

static bool holds(const char *function)
{
	cleanup_strbuf struct strbuf base = STRBUF_INIT;
	bool templated;

	shortname_base(&base, function, &templated);
	for (size_t i = 0; i < COUNT(holders); i++)
		if (!strcmp(strbuf_str(&base), holders[i]))
			return true;
	return false;
}

static bool may_call_back(const struct summary_frame *f, const char *linkage)
{
	if (!calls_back(linkage) && !(f->function && calls_back(f->function)))
		return false;
	return !f->function || !holds(f->function);
}

/* A method of a C++ class: MemPoolMalloc::allocate. */
static bool is_method_allocate(const struct summary_frame *f)
{
	cleanup_strbuf struct strbuf base = STRBUF_INIT;
	bool templated;

	if (!f->function || !strstr(f->function, "::"))
		return false;
	shortname_base(&base, f->function, &templated);
	return !strcmp(strbuf_str(&base), "allocate") || !strcmp(strbuf_str(&base), "Allocate");
}

static bool is_wrapper(const struct summary_frame *f)
{
	const char *linkage = f->linkage ? f->linkage : f->function;

	if (f->wrapper || !linkage)
		return f->wrapper;
	if (is_c_function(linkage) || is_method_allocate(f))
		return true;
	return is_of_a_library(f, linkage) && !may_call_back(f, linkage);
}

/* Is it called so, or is it a clone that the compiler made of it: f.part.0? */
static bool is_called(const char *name, const char *skip)
{
	size_t n = name ? strcspn(name, ".@") : 0;

	return name && (!strcmp(name, skip) || (n && strlen(skip) == n && !memcmp(name, skip, n)));
}

static bool is_skipped(const struct summary_frame *f, const char *const *skips, size_t nskips)
{
	for (size_t i = 0; i < nskips; i++)
		if (is_called(f->linkage, skips[i]) || is_called(f->function, skips[i]))
			return true;
	return false;
}

static bool same_file(const struct summary_frame *a, const struct summary_frame *b)
{
	return a->module && b->module && !strcmp(a->module, b->module);
}

/*
 * Is it a library that is nothing but an allocator? There malloc has no frame of its own: it jumps to the
 * function that does the work.
 */
static bool is_allocators_file(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return path && begins_with_any(slash ? slash + 1 : path, allocator_files, COUNT(allocator_files));
}

size_t wrappers_allocator(const struct summary_frame *frames, size_t n)
{
	bool whole = n && is_allocators_file(frames[0].module);

	for (size_t i = 0; i + 1 < n && i < ALLOCATOR_DEPTH && same_file(&frames[0], &frames[i]); i++) {
		const char *name = frames[i].linkage ? frames[i].linkage : frames[i].function;

		if (name && !frames[i].inlined &&
		    (is_allocator(name) || begins_with_any(name, operator_new, COUNT(operator_new))))
			return i + 1;
		if (whole && !same_file(&frames[0], &frames[i + 1]))
			return i + 1;
	}
	return 0;
}

/* Is a script executed in it? */
static bool has_script(const struct summary_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (summary_frame_is_script(&frames[i]))
			return true;
	return false;
}

/* Is it code of an interpreter? */
static bool is_of_interpreter(const struct summary_frame *f)
{
	const char *slash = f->module ? strrchr(f->module, '/') : NULL;

	return slash && begins_with_any(slash + 1, interpreters, COUNT(interpreters));
}

void wrappers_mark(struct summary_frame *frames, size_t n, const char *const *skips, size_t nskips)
{
	const bool script = has_script(frames, n);

	for (size_t i = 0; i < n; i++) {
		frames[i].wrapper |= is_skipped(&frames[i], skips, nskips);
		frames[i].wrapper |= script && is_of_interpreter(&frames[i]);
		if (!frames[i].inlined && !is_wrapper(&frames[i]))
			break;
	}
}

size_t wrappers_count(const struct summary_frame *frames, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_wrapper(&frames[i]))
			count = i + 1;
		else if (!frames[i].inlined)
			break;
	}
	return count < n ? count : 0;
}
