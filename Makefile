# SPDX-License-Identifier: MIT
#
# mmattach: GNU make, one file.
#
#	make              ./mmattach
#	make check        build everything, run all tests (MM_REQUIRE=1: a skipped test is a failure)
#	make unit         only the unit tests
#	make docs         doc/json-members.md and doc/csv-columns.md, from the tables of fields
#	make fuzz         each parser under libFuzzer for FUZZ_TIME seconds (clang; 60 if not set)
#	make bench        what a hit costs, in ratios
#	make kernels      the static program on other kernels, in virtual machines (KERNELS, ROUNDS, ...; CONTRIBUTING.md)
#	make soak         a long watch with a budget, for SECONDS (an hour if not set)
#	make demo         attach to a leaky service and print the report
#	make static       one file without shared libraries, $(B)/mmattach-static (doc/install.md)
#	make install      DESTDIR, prefix, and the folders below; make uninstall
#	make package-check    build the Debian package, install it in a fresh Debian, use it, remove it (root)
#
#	DEBUG=1                   -Og, warnings are errors
#	SAN=address,undefined     sanitizers
#	V=1                       show the commands
#	CFLAGS, CPPFLAGS, LDFLAGS, LDLIBS   are added to ours, never replace them
#
# Each combination of DEBUG and SAN has its objects under build/VARIANT/;
# ./mmattach is the one built last. Victims (tests/victims) and bench programs are
# built plainly whatever the variant: they stand for other people's programs.

prefix      ?= /usr/local
exec_prefix ?= $(prefix)
bindir      ?= $(exec_prefix)/bin
datarootdir ?= $(prefix)/share
datadir     ?= $(datarootdir)
mandir      ?= $(datarootdir)/man
docdir      ?= $(datarootdir)/doc/mmattach
gdbdir      ?= $(datadir)/mmattach
bashcompletiondir ?= $(datadir)/bash-completion/completions
zshcompletiondir  ?= $(datadir)/zsh/site-functions
fishcompletiondir ?= $(datadir)/fish/vendor_completions.d
INSTALL     ?= install
PYTHON      ?= python3

comma := ,
VARIANT := $(if $(DEBUG),debug,release)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
B := build/$(VARIANT)

WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes
MM_CPPFLAGS := -D_GNU_SOURCE -I.
MM_CFLAGS := -std=gnu17 $(if $(DEBUG),-Og -Werror,-O2) -g -pthread $(WARN)
MM_LDFLAGS := -pthread
MM_LDLIBS := -ldw -lelf -lcapstone -llzma -lzstd -lstdc++ -lunwind-x86_64 -lncursesw -ltinfo -lm
ifneq ($(SAN),)
MM_CFLAGS += -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
MM_LDFLAGS += -fsanitize=$(SAN)
endif

COMPILE = $(CC) $(MM_CPPFLAGS) $(CPPFLAGS) $(MM_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
LINK = $(CC) $(MM_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^)

ifeq ($(V),)
say = @echo "  $(1)	$@";
else
say =
endif

# The second engine: the BPF program takes clang, its loader libbpf. Without them --version and --engine uprobe say so.
CLANG ?= clang
BPF := $(and $(shell command -v $(CLANG)),$(wildcard /usr/include/bpf/libbpf.h))
BPF_SOURCE := attach/uprobe/uprobe.bpf.c
WITHOUT := $(BPF_SOURCE) $(if $(BPF),attach/uprobe/uprobe_missing.c,$(addprefix attach/uprobe/,uprobe.c uprobe_sites.c uprobe_pump.c uprobe_kernel.c uprobe_load.c uprobe_jit.c uprobe_selftest.c))
ifneq ($(BPF),)
MM_LDLIBS += -lbpf -lz
MM_CPPFLAGS += -DMM_UPROBE=1
endif

SOURCES := $(filter-out $(WITHOUT),$(sort $(shell find base trace symbolize report heap packs attach -name '*.c')))
OBJECTS := $(SOURCES:%.c=$(B)/%.o)
LIBRARY_OBJECTS := $(filter-out $(B)/attach/main.o,$(OBJECTS)) $(B)/packs/list.o $(B)/report/html/page.o \
	$(if $(BPF),$(B)/attach/uprobe/object.o)

# The rules that come with the program (packs/packs.h). Of several rules for a function the first counts: libc's.
PACKS := packs/libc.probes $(filter-out packs/libc.probes,$(sort $(wildcard packs/*.probes)))

# The page of --format html: one script, in this order (report/html/html_page.h).
PAGE := $(B)/report/html
PAGE_SCRIPTS := $(addprefix report/html/,text.js theme.js data.js tree.js stack.js dom.js answer.js flame.js flame_keys.js \
	plot.js histogram.js estimates.js table.js refs.js scan.js pyobjects.js lookup.js account.js page.js)

# tests/unit has the folders of what is tested; the programs are all in one.
UNIT_SOURCES := $(filter-out $(if $(BPF),,%/test_uprobe_load.c),$(sort $(shell find tests/unit -name 'test_*.c')))
UNITS := $(addprefix $(B)/unit/,$(notdir $(UNIT_SOURCES:.c=)))
TOOLS := $(patsubst tests/tools/%.c,$(B)/tools/%,$(wildcard tests/tools/*.c)) $(B)/tools/simulate
SIMULATE_OBJECTS := $(patsubst %.c,$(B)/%.o,$(wildcard tests/simulate/*.c))
BENCHES := $(patsubst bench/%.c,build/bench/%,$(wildcard bench/*.c)) $(patsubst bench/%.cc,build/bench/%,$(wildcard bench/*.cc))

# A victim is one file; lib*.c is a shared object that a victim opens, and NAME_asm.S is linked into NAME.
VICTIM_C := $(wildcard tests/victims/*.c)
VICTIM_LIB := $(filter tests/victims/lib%,$(VICTIM_C))
VICTIMS := $(patsubst tests/victims/%.c,build/victims/%,$(filter-out $(VICTIM_LIB),$(VICTIM_C))) \
	$(patsubst tests/victims/%.cc,build/victims/%,$(wildcard tests/victims/*.cc)) \
	$(patsubst tests/victims/%.c,build/victims/%.so,$(VICTIM_LIB))
ifneq ($(wildcard tests/victims/hot.c),)
VICTIMS += build/victims/hot_static build/victims/hot_static_pie build/victims/hot_static_stripped
endif
VICTIMS += build/victims/grower_static build/victims/paths_static build/victims/paths_static_pie build/victims/cored_static build/victims/cored_static_pie
VICTIMS += build/victims/census_next
VICTIMS += $(addprefix build/victims/classes_,stripped static_stripped nortti)
VICTIMS += $(foreach level,O0 Os,$(patsubst %,build/victims/%_$(level),paths cpaths sigpaths))
# Where there is a toolchain.
RUSTC ?= $(shell command -v rustc)
VICTIMS += $(if $(RUSTC),$(patsubst tests/victims/%.rs,build/victims/%,$(wildcard tests/victims/*.rs)))
MUSL_CC ?= $(shell command -v musl-gcc)
VICTIMS += $(if $(MUSL_CC),$(foreach v,hoard loser,build/victims/$(v)_musl build/victims/$(v)_musl_static))
VICTIMS += $(if $(MUSL_CC),build/victims/sampled_musl build/victims/fates_child_musl)
MIMALLOC := $(firstword $(wildcard /usr/lib/x86_64-linux-gnu/libmimalloc.so.2))
VICTIMS += $(if $(MIMALLOC),build/victims/hoard_mimalloc)
TCMALLOC := $(firstword $(wildcard /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4))
VICTIMS += $(if $(TCMALLOC),build/victims/hoard_tcmalloc)
VICTIM_FLAGS := -O2 -g -pthread

# A fuzzer is one function (tests/fuzz); driver.c calls it in `make check`, libFuzzer in `make fuzz`.
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)
FUZZERS := $(FUZZ_SOURCES:tests/fuzz/%.c=$(B)/fuzz/%)
LIBFUZZERS := $(FUZZ_SOURCES:tests/fuzz/%.c=$(B)/libfuzzer/%)
FUZZ_SEEDS := build/fuzz/seeds/elfimage/tiny.so build/fuzz/seeds/elfimage/tiny build/fuzz/seeds/elfimage/stripped.so \
	build/fuzz/seeds/elfimage/vast.so build/fuzz/seeds/decode/forms \
	$(addprefix build/fuzz/seeds/names/,five.so four plus.so packed.so) \
	build/fuzz/seeds/cfi/tiny.so build/fuzz/seeds/cfi/tiny
FUZZ_TIME ?= 60

.DELETE_ON_ERROR:
.PHONY: all check goldens docs unit units tools libcs victims fault real fuzzers fuzz libfuzzers benches bench kernels kernels-get soak demo layers static install uninstall package-check mutants clean FORCE

all: mmattach

# The name at the top is a link to the variant built last.
mmattach: $(B)/mmattach FORCE
	@[ $@ -ef $< ] || ln -f $< $@

$(B)/mmattach: $(B)/attach/main.o $(B)/libmm.a
	$(call say,LD)$(LINK) $(MM_LDLIBS) $(LDLIBS)

# Made aside and renamed, so that nobody links with half of it; made anew, so that no object of a deleted file stays.
$(B)/libmm.a: $(LIBRARY_OBJECTS)
	$(call say,AR)rm -f $@.tmp && $(AR) rcs $@.tmp $^ && mv $@.tmp $@

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE)

# Changes when the flags do, and then everything is compiled again.
FLAGS_NOW := $(CC) $(MM_CPPFLAGS) $(CPPFLAGS) $(MM_CFLAGS) $(CFLAGS) $(MM_LDFLAGS) $(LDFLAGS)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS_NOW)' | cmp -s - $@ || echo '$(FLAGS_NOW)' > $@

# Each file and its name as strings, and a table of them. Made anew if a file is there no more, too.
$(B)/packs/list.S: Makefile $(PACKS) $(B)/packs/names
	$(call say,GEN)( \
	echo '.section .rodata'; \
	for p in $(PACKS); do n=$$(basename $$p .probes); \
		echo "name_$$n: .asciz \"$$n\""; echo "text_$$n: .incbin \"$$p\""; echo "end_$$n: .byte 0"; done; \
	echo '.balign 8'; echo '.globl packs_count'; echo 'packs_count: .quad $(words $(PACKS))'; \
	echo '.section .data.rel.ro, "aw"'; echo '.balign 8'; echo '.globl packs_list'; echo 'packs_list:'; \
	for p in $(PACKS); do n=$$(basename $$p .probes); echo ".quad name_$$n, text_$$n, end_$$n - text_$$n"; done; \
	echo '.section .note.GNU-stack, "", @progbits' ) > $@

$(B)/packs/names: FORCE
	@mkdir -p $(@D)
	@echo '$(PACKS)' | cmp -s - $@ || echo '$(PACKS)' > $@

$(B)/packs/list.o: $(B)/packs/list.S $(B)/flags
	$(call say,AS)$(CC) -c -o $@ $<

# A Content-Security-Policy with the hashes of the one style and the one script: what is between their tags, with both
# newlines. What the page has before the data of a report, and behind it, becomes part of the program.
$(PAGE)/page.css.txt: report/html/page.css
	@mkdir -p $(@D)
	@(echo; cat $<) > $@

$(PAGE)/page.js.txt: $(PAGE_SCRIPTS) Makefile
	@mkdir -p $(@D)
	@(echo; echo '"use strict";'; echo '(() => {'; cat $(PAGE_SCRIPTS); echo '})();') > $@

$(PAGE)/%.hash: $(PAGE)/%.txt
	@env printf "$$(sha256sum < $< | cut -c1-64 | sed 's/../\\x&/g')" | base64 > $@

$(PAGE)/page.html: report/html/page.html $(addprefix $(PAGE)/,page.css.txt page.js.txt page.css.hash page.js.hash)
	$(call say,GEN)sed -e "s|@CSS_HASH@|$$(cat $(PAGE)/page.css.hash)|; s|@JS_HASH@|$$(cat $(PAGE)/page.js.hash)|" \
		-e 's|^<style>$$|<style>@|; s|^<script>$$|<script>@|' $< | \
		while IFS= read -r line; do case $$line in \
		'<style>@') printf '<style>'; cat $(PAGE)/page.css.txt;; \
		'<script>@') printf '<script>'; cat $(PAGE)/page.js.txt;; \
		*) printf '%s\n' "$$line";; esac; done > $@

$(PAGE)/page.S: $(PAGE)/page.html
	@sed '/^@REPORT@$$/,$$d' $< > $(PAGE)/before.part && sed '1,/^@REPORT@$$/d' $< > $(PAGE)/behind.part
	@(echo '.section .rodata'; for part in before behind; do \
		echo ".globl html_page_$$part, html_page_$${part}_size"; echo "html_page_$$part: .incbin \"$(PAGE)/$$part.part\""; \
		echo "end_$$part: .byte 0"; echo '.balign 8'; echo "html_page_$${part}_size: .quad end_$$part - html_page_$$part"; done; \
		echo '.section .note.GNU-stack, "", @progbits') > $@

$(PAGE)/page.o: $(PAGE)/page.S $(B)/flags
	$(call say,AS)$(CC) -c -o $@ $<

# The BPF program becomes part of the program: without its debug information, which nothing needs, but with its types.
BPF_PARTS := $(BPF_SOURCE) $(wildcard attach/uprobe/*.bpf.h) attach/uprobe/uprobe_hits.h Makefile
BPF_COMPILE = $(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Wno-unused-parameter -I. \
		-I/usr/include/$$($(CC) -print-multiarch) -c -o $@ $< && llvm-strip -g $@

$(B)/attach/uprobe/uprobe.bpf.o: $(BPF_PARTS)
	@mkdir -p $(@D)
	$(call say,BPF)$(BPF_COMPILE)

%/object.S: %/uprobe.bpf.o
	@(echo '.section .rodata'; echo '.globl uprobe_object, uprobe_object_size'; echo '.balign 8'; \
		echo 'uprobe_object: .incbin "$<"'; echo 'end_uprobe_object:'; echo '.balign 8'; \
		echo 'uprobe_object_size: .quad end_uprobe_object - uprobe_object'; \
		echo '.section .note.GNU-stack, "", @progbits') > $@

%/object.o: %/object.S $(B)/flags
	$(call say,AS)$(CC) -c -o $@ $<

units: $(UNITS)

# Without the second engine it is not in the library.
UNIT_PARTS_test_uprobe_pump := attach/uprobe/uprobe_pump.o
UNIT_PARTS_test_uprobe_sites := attach/uprobe/uprobe_sites.o

define unit_rule
$$(B)/unit/$(notdir $(1:.c=)): $$(B)/$(1:.c=.o) $$(addprefix $$(B)/,$$(UNIT_PARTS_$(notdir $(1:.c=)))) $$(B)/libmm.a
	@mkdir -p $$(@D)
	$$(call say,LD)$$(LINK) -lcmocka $$(MM_LDLIBS) $$(LDLIBS)
endef
$(foreach source,$(UNIT_SOURCES),$(eval $(call unit_rule,$(source))))

# What tests ask our own code with, in programs of their own.
tools: $(TOOLS)

# It has a clock and an allocator of its own, which come before those of the library.
$(B)/tools/simulate: $(SIMULATE_OBJECTS) $(B)/libmm.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) $(MM_LDLIBS) $(LDLIBS)

$(B)/tools/%: $(B)/tests/tools/%.o $(B)/libmm.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) $(MM_LDLIBS) $(LDLIBS)

# Other versions of glibc and of Ruby, from Debian's mirror, and what runs with them. Without the network their tests are skipped, and say so.
libcs: $(wildcard tests/victims/census* tests/victims/losses*)
	$(PYTHON) tests/libcs.py get || true
	$(PYTHON) tests/rubies.py get || true
	$(PYTHON) tests/oldmusl.py get || true

victims: $(VICTIMS)

build/victims/lib%.so: tests/victims/lib%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -MMD -MP -shared -fPIC -o $@ $<

build/victims/%_mimalloc: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -DHOARD_PREFIX=mi_ -DHOARD_USABLE=mi_usable_size -MMD -MP -o $@ $< $(MIMALLOC)

build/victims/%_tcmalloc: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -DHOARD_PREFIX=tc_ -DHOARD_USABLE=tc_malloc_size -MMD -MP -o $@ $< $(TCMALLOC)

# Stripped, if static: nothing but structure shows what is in it.
build/victims/%_musl: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(MUSL_CC) $(VICTIM_FLAGS) -MMD -MP -o $@ $<

build/victims/%_musl_static: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(MUSL_CC) $(VICTIM_FLAGS) -static -s -MMD -MP -o $@ $<

build/victims/%_static: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -MMD -MP -static -o $@ $<

build/victims/%_static_pie: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -MMD -MP -static-pie -o $@ $<

build/victims/%_static_stripped: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -MMD -MP -static -s -o $@ $<

build/victims/%_O0: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -O0 -MMD -MP -o $@ $<

build/victims/%_Os: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -Os -MMD -MP -o $@ $<

build/victims/%_O0: tests/victims/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -std=gnu++17 $(VICTIM_FLAGS) -O0 -MMD -MP -o $@ $<

build/victims/%_Os: tests/victims/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -std=gnu++17 $(VICTIM_FLAGS) -Os -MMD -MP -o $@ $<

build/victims/%_stripped: tests/victims/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -std=gnu++17 $(VICTIM_FLAGS) -s -MMD -MP -o $@ $<

build/victims/%_static_stripped: tests/victims/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -std=gnu++17 $(VICTIM_FLAGS) -static -s -MMD -MP -o $@ $<

build/victims/%_nortti: tests/victims/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -std=gnu++17 $(VICTIM_FLAGS) -fno-rtti -MMD -MP -o $@ $<

build/victims/census_next: tests/victims/census.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -DCENSUS_NEXT -MMD -MP -o $@ $<

build/victims/%: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -MMD -MP -o $@ $< $(wildcard tests/victims/$*_asm.S)

build/victims/%: tests/victims/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -std=gnu++17 $(VICTIM_FLAGS) -MMD -MP -o $@ $<

build/victims/%: tests/victims/%.rs
	@mkdir -p $(@D)
	$(call say,RUSTC)$(RUSTC) -O -g -o $@ $<

# What makes system calls fail, or come late (tests/fault).
BROKEN := $(if $(BPF),$(addprefix $(B)/fault/,loses loses_later shares))
fault: build/fault/refuse build/fault/late.so $(BROKEN:%=%/mmattach)

# mmattach with BPF programs that are wrong.
.SECONDARY: $(BROKEN:%=%/object.S) $(BROKEN:%=%/object.o) $(BROKEN:%=%/uprobe.bpf.o)
$(B)/fault/%/uprobe.bpf.o: tests/fault/broken.bpf.c $(BPF_PARTS)
	@mkdir -p $(@D)
	$(call say,BPF)$(subst -c -o,-DBROKEN_$(shell echo $* | tr a-z A-Z) -c -o,$(BPF_COMPILE))

$(B)/fault/%/mmattach: $(B)/attach/main.o $(B)/fault/%/object.o $(B)/libmm.a
	$(call say,LD)$(LINK) $(MM_LDLIBS) $(LDLIBS)

build/fault/%.so: tests/fault/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -O2 -g $(WARN) -D_GNU_SOURCE -shared -fPIC -MMD -MP -o $@ $<

build/fault/%: tests/fault/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -O2 -g $(WARN) -D_GNU_SOURCE -MMD -MP -o $@ $<

# The targets of tests/real, where what they are built with is installed. Stripped, as packages are.
GLUSTER_FLAGS := -DGF_LINUX_HOST_OS=1 -DSIZEOF_LONG=8 -DSIZEOF_INT=4 -DHAVE_ATOMIC_BUILTINS=1 -D_FILE_OFFSET_BITS=64 \
	-isystem /usr/include/glusterfs -isystem /usr/include/uuid
JEMALLOC_A := $(firstword $(wildcard /usr/lib/x86_64-linux-gnu/libjemalloc_pic.a))
REAL := build/real/ovs_leak.so build/real/allocs_static \
	$(if $(wildcard /usr/include/glusterfs/xlator.h),build/real/leaky_xlator.so build/real/passing_xlator.so) \
	$(if $(shell pkg-config --exists libdpdk 2>/dev/null && echo yes),build/real/dpdk_leak) \
	$(if $(wildcard /usr/include/talloc.h),build/real/talloc_leak) \
	$(if $(wildcard /usr/include/apr-1.0/apr_pools.h),build/real/apr_leak) \
	$(if $(and $(RUSTC),$(JEMALLOC_A)),build/real/jemallocated) \
	$(if $(MUSL_CC),build/real/allocs_musl build/real/allocs_musl_static)
REAL_CFLAGS := -O2 -g -pthread $(WARN) -D_GNU_SOURCE -MMD -MP

real: $(REAL)

build/real/%_xlator.so: tests/real/targets/%_xlator.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(REAL_CFLAGS) $(GLUSTER_FLAGS) -Wno-unused-parameter -shared -fPIC -s -o $@ $<

build/real/%.so: tests/real/targets/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(REAL_CFLAGS) -shared -fPIC -s -o $@ $<

build/real/dpdk_leak: tests/real/targets/dpdk_leak.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(REAL_CFLAGS) $$(pkg-config --cflags libdpdk) -o $@ $< $$(pkg-config --libs libdpdk)

build/real/talloc_leak: tests/real/targets/talloc_leak.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(REAL_CFLAGS) -s -o $@ $< -ltalloc

build/real/apr_leak: tests/real/targets/apr_leak.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(REAL_CFLAGS) -isystem /usr/include/apr-1.0 -s -o $@ $< -lapr-1

# Debian's jemalloc, with the names that it has in a Rust program (crate jemallocator), and without C++'s new.
build/real/librjem.a: $(JEMALLOC_A)
	@mkdir -p $(@D)
	$(call say,OBJCOPY)cp $< $@.new && ar d $@.new jemalloc_cpp.pic.o jemalloc_cpp.o && \
	nm --defined-only $@.new 2>/dev/null | awk '$$2 == "T" && $$3 !~ /^(je_|_)/ { print $$3 " _rjem_" $$3 }' \
		| sort -u > $@.names && objcopy --redefine-syms=$@.names $@.new $@ && rm $@.new $@.names

build/real/jemallocated: tests/real/targets/jemallocated.rs build/real/librjem.a
	@mkdir -p $(@D)
	$(call say,RUSTC)$(RUSTC) -O -g -o $@ $< -L build/real -l static=rjem -l pthread -l dl -l m

build/real/%_static: tests/real/targets/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(REAL_CFLAGS) -static -o $@ $<

build/real/%_musl: tests/real/targets/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(MUSL_CC) $(REAL_CFLAGS) -o $@ $<

build/real/%_musl_static: tests/real/targets/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(MUSL_CC) $(REAL_CFLAGS) -static -o $@ $<

fuzzers: $(FUZZERS) $(FUZZ_SEEDS)

$(B)/fuzz/%: $(B)/tests/fuzz/%.o $(B)/tests/fuzz/driver.o $(B)/libmm.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) $(MM_LDLIBS) $(LDLIBS)

build/fuzz/seeds/elfimage/tiny.so: tests/fuzz/tiny.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -O2 -fPIC -ffreestanding -nostdlib -shared -Wl,--build-id=sha1 -o $@ $<

build/fuzz/seeds/elfimage/vast.so: tests/fuzz/tiny.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -O2 -fPIC -ffreestanding -nostdlib -shared -DVAST -o $@ $<

build/fuzz/seeds/elfimage/tiny: tests/fuzz/tiny.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -O2 -fno-pie -no-pie -ffreestanding -nostdlib -static -Wl,-e,main -Wl,--build-id=sha1 -o $@ $<

build/fuzz/seeds/elfimage/stripped.so: tests/fuzz/tiny.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -Os -fPIC -ffreestanding -nostdlib -shared -s -Wl,--hash-style=sysv -o $@ $<

build/fuzz/seeds/names/five.so: tests/fuzz/tiny.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -O2 -gdwarf-5 -fPIC -ffreestanding -nostdlib -shared -Wl,--build-id=sha1 -o $@ $<

build/fuzz/seeds/names/four: tests/fuzz/tiny.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -O2 -gdwarf-4 -fno-pie -no-pie -ffreestanding -nostdlib -static -Wl,-e,main -o $@ $<

build/fuzz/seeds/names/plus.so: tests/fuzz/plus.cc
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -O2 -g -fPIC -ffreestanding -fno-exceptions -fno-rtti -nostdlib -shared -o $@ $<

# Symbols only in .gnu_debugdata.
build/fuzz/seeds/names/packed.so: build/fuzz/seeds/names/five.so
	$(call say,XZ)objcopy --only-keep-debug --strip-debug $< $@.symbols && xz -f --check=crc32 $@.symbols && \
		objcopy -S --add-section=.gnu_debugdata=$@.symbols.xz $< $@ && rm $@.symbols.xz

build/fuzz/seeds/decode/forms: tests/fuzz/forms.S
	@mkdir -p $(@D)
	$(call say,AS)$(CC) -nostdlib -static -Wl,-e,0 -Wl,-Ttext,0x401000 -Wl,--oformat,binary -Wl,--build-id=none -o $@ $<

build/fuzz/seeds/cfi/%: build/fuzz/seeds/elfimage/%
	@mkdir -p $(@D)
	$(call say,CP)cp $< $@

# Everything again with clang, under its own variant's name.
fuzz: $(FUZZ_SEEDS)
	@echo 'int LLVMFuzzerTestOneInput(void){return 0;}' | \
		$(CLANG) -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null || \
		{ echo 'make fuzz needs clang with libFuzzer: apt-get install clang libclang-rt-14-dev'; exit 1; }
	$(MAKE) CC=$(CLANG) SAN=fuzzer-no-link,address,undefined libfuzzers

# What hours of fuzzing have found to be different is kept in tests/fuzz/grown.
# -fsanitize=fuzzer-no-link of the objects becomes fuzzer here, with libFuzzer's main. What fails is left in build/fuzz/.
libfuzzers: $(LIBFUZZERS)
	@for f in $^; do \
		name=$${f##*/fuzz_}; mkdir -p build/fuzz/corpus/$$name; set -- build/fuzz/corpus/$$name; \
		grown=tests/fuzz/grown/$$name.tar.xz; [ ! -f $$grown ] || tar -xf $$grown -C build/fuzz/corpus/$$name; \
		for seeds in tests/fuzz/corpus/$$name build/fuzz/seeds/$$name; do [ ! -d $$seeds ] || set -- "$$@" $$seeds; done; \
		echo "  FUZZ	$$name"; \
		$$f -max_total_time=$(FUZZ_TIME) -timeout=10 -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1 -verbosity=0 \
			-artifact_prefix=build/fuzz/$$name- "$$@" || exit 1; \
	done

$(B)/libfuzzer/%: $(B)/tests/fuzz/%.o $(B)/libmm.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -fsanitize=fuzzer $(MM_LDLIBS) $(LDLIBS)

benches: $(BENCHES)

# The one that has our own code in it; libunwind-ptrace is what it is measured against.
build/bench/unwind: $(B)/bench/unwind.o $(B)/libmm.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -lunwind-ptrace $(MM_LDLIBS) $(LDLIBS)

build/bench/census build/bench/flood: build/bench/%: $(B)/bench/%.o $(B)/libmm.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) $(MM_LDLIBS) $(LDLIBS)

build/bench/events build/bench/traces: build/bench/%: $(B)/bench/%.o $(B)/bench/synthetic/synthetic.o $(B)/libmm.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) $(MM_LDLIBS) $(LDLIBS)

build/bench/nothing: bench/nothing.c
	@mkdir -p $(@D)
	$(call say,LD)$(CC) -O2 -static -nostdlib -o $@ $<

build/bench/%: bench/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -O2 -g -pthread $(WARN) -D_GNU_SOURCE -MMD -MP -o $@ $<

build/bench/%: bench/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -std=gnu++17 -O2 -g -pthread -MMD -MP -o $@ $<

layers: $(LIBRARY_OBJECTS)
	$(PYTHON) tests/layers.py . $(B)

# What watches live processes runs one after the other, and what needs only a processor beside it (tests/conftest.py); TEST_JOBS=1: all in a row, anything else: side by side.
TEST_JOBS ?= 3
SIDE_BY_SIDE = $(if $(filter-out 1,$(TEST_JOBS)),$(shell $(PYTHON) -c 'import xdist' 2>/dev/null && echo --numprocesses=4 --dist=loadgroup))

# LeakSanitizer fails in a process that is traced, and some tests want an allocation to fail.
check unit: export MM_BUILD = $(B)
# Of the repetitions that tests name a third is made in a whole run, as that is made with each change.
check: export MM_LOOPS ?= 0.34
check unit: export ASAN_OPTIONS ?= detect_leaks=0:allocator_may_return_null=1

check: layers all units tools libcs victims fault real fuzzers benches $(if $(SAN),,static kernels-get)
	$(PYTHON) -m pytest -q -rs --durations=10 $(SIDE_BY_SIDE) tests

unit: units
	$(PYTHON) -m pytest -q tests/test_unit.py

# The printers are runs made by hand, with hostile names.
goldens: export MM_BUILD = $(B)
goldens: all $(addprefix $(B)/unit/,test_out_scan test_formats)
	$(PYTHON) tests/golden/run.py

# Pages of the documents that are made of the tables of fields; tests compare them.
docs: all
	(echo '<!-- SPDX-License-Identifier: MIT -->'; $(B)/mmattach formats json) >doc/json-members.md
	(echo '<!-- SPDX-License-Identifier: MIT -->'; $(B)/mmattach formats csv) >doc/csv-columns.md

bench: all tools benches real build/victims/sampled $(B)/unit/test_names
	$(PYTHON) bench/run.py

SECONDS ?= 3600
soak: export MM_BUILD = $(B)
soak: all build/victims/sampled
	$(PYTHON) tests/live/soak.py $(SECONDS)

# Other kernels, as Debian has them. Those of `make check` are fetched once; without the network their tests are skipped, and say so.
kernels-get:
	$(if $(shell command -v qemu-system-x86_64),$(PYTHON) tests/kernels/kernels.py get 5.10 6.1 6.12 newest || true)

kernels: export MM_BUILD = $(B)
kernels: static victims
	$(PYTHON) tests/kernels/matrix.py $(if $(KERNELS),--kernels '$(KERNELS)') $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(CHECKS),--checks '$(CHECKS)') \
		$(if $(PREEMPT),--preempt '$(PREEMPT)') $(if $(PROCESSORS),--processors '$(PROCESSORS)') $(if $(SEED),--seed $(SEED))

demo: all victims
	sh demo/demo.sh

static: $(B)/mmattach-static

# A warning is an error: of what glibc would load at run time nothing may be left (static/standins.c).
$(B)/mmattach-static: $(B)/attach/main.o $(B)/static/standins.o $(B)/libmm.a
	$(call say,LD)$(LINK) -static -s -Wl,--fatal-warnings,--wrap=dlopen,--wrap=getpwuid -Wl,--start-group $(MM_LDLIBS) -lunwind -lbz2 -lz $(LDLIBS) -Wl,--end-group

# What is installed, FILE:FOLDER, and the folders that nothing else uses. The packs are part of the program.
INSTALLED := $(B)/mmattach:$(bindir) \
	$(foreach page,$(wildcard man/*.[1-9]),$(page):$(mandir)/man$(patsubst .%,%,$(suffix $(page)))) \
	gdbscripts/mmleak.py:$(gdbdir) $(foreach file,$(wildcard gdbscripts/mmgdb/*.py),$(file):$(gdbdir)/mmgdb) \
	completions/mmattach:$(bashcompletiondir) completions/_mmattach:$(zshcompletiondir) \
	completions/mmattach.fish:$(fishcompletiondir) \
	$(foreach file,README.md NEWS LICENSE $(wildcard doc/*.md doc/*.json),$(file):$(docdir))
OWN_FOLDERS := $(gdbdir)/mmgdb/__pycache__ $(gdbdir)/mmgdb $(gdbdir) $(docdir)
file_of = $(firstword $(subst :, ,$(1)))
folder_of = $(DESTDIR)$(lastword $(subst :, ,$(1)))

install: mmattach
	@set -e; $(foreach each,$(INSTALLED),$(INSTALL) -d '$(call folder_of,$(each))'; \
		$(INSTALL) -m $(if $(filter $(B)/mmattach,$(call file_of,$(each))),755,644) $(call file_of,$(each)) '$(call folder_of,$(each))';)
	@# The manual names the folders that were chosen, and the scripts for gdb the way from theirs to the program.
	sed -i -e 's|/usr/local/share/mmattach|$(gdbdir)|g' -e 's|doc/\([a-z-]*\.md\)|$(docdir)/\1|g' \
		$(foreach page,$(notdir $(wildcard man/*.1)),'$(DESTDIR)$(mandir)/man1/$(page)') \
		$(foreach page,$(notdir $(wildcard man/*.5)),'$(DESTDIR)$(mandir)/man5/$(page)')
	sed -i 's|^INSTALLED = .*|INSTALLED = "'"$$(realpath -m --relative-to='$(gdbdir)/mmgdb' '$(bindir)/mmattach')"'"|' \
		'$(DESTDIR)$(gdbdir)/mmgdb/program.py'

# In a staging folder (DESTDIR) empty folders above ours go, too; those that are gone are made again for rmdir -p.
uninstall:
	rm -f $(foreach each,$(INSTALLED),'$(call folder_of,$(each))/$(notdir $(call file_of,$(each)))')
	rm -f '$(DESTDIR)$(gdbdir)'/mmgdb/__pycache__/*.pyc
	@for folder in $(foreach each,$(OWN_FOLDERS),'$(DESTDIR)$(each)'); do \
		[ ! -d "$$folder" ] || rmdir --ignore-fail-on-non-empty "$$folder"; done
	@[ -z '$(DESTDIR)' ] || for folder in $(sort $(foreach each,$(INSTALLED),'$(lastword $(subst :, ,$(each)))')); do \
		(cd '$(DESTDIR)' && mkdir -p "$${folder#/}" && rmdir -p --ignore-fail-on-non-empty "$${folder#/}") || exit 1; done

# Faults that are put into the code, and whether the tests find them: an hour. MUTANTS='-n 5 -s 2 census'
mutants: all units tools libcs victims
	$(PYTHON) tests/mutants.py $(MUTANTS)

package-check:
	$(PYTHON) tests/package.py

clean:
	rm -rf build mmattach

# Without this make would take the units' objects for leftovers and delete them.
.SECONDARY:

-include $(OBJECTS:.o=.d) $(UNIT_SOURCES:%.c=$(B)/%.d) $(FUZZ_SOURCES:%.c=$(B)/%.d) \
	$(TOOLS:$(B)/tools/%=$(B)/tests/tools/%.d) $(SIMULATE_OBJECTS:.o=.d) $(B)/tests/fuzz/driver.d $(B)/bench/unwind.d $(B)/bench/events.d $(B)/bench/traces.d $(B)/bench/synthetic/synthetic.d $(B)/bench/flood.d $(B)/bench/census.d $(wildcard build/victims/*.d build/bench/*.d build/fault/*.d build/real/*.d)
