# SPDX-License-Identifier: MIT
#
# mmattach: GNU make, one file.
#
#	make              ./mmattach
#	make check        build everything, run all tests (MM_REQUIRE=1: a skipped test is a failure)
#	make unit         only the unit tests
#	make bench        what a hit costs, in ratios
#	make demo         attach to a leaky service and print the report
#	make install      DESTDIR, prefix
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
bindir      ?= $(prefix)/bin
mandir      ?= $(prefix)/share/man
INSTALL     ?= install
PYTHON      ?= python3

comma := ,
VARIANT := $(if $(DEBUG),debug,release)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
B := build/$(VARIANT)

WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes
MM_CPPFLAGS := -D_GNU_SOURCE -I.
MM_CFLAGS := -std=gnu17 $(if $(DEBUG),-Og -Werror,-O2) -g -pthread $(WARN)
MM_LDFLAGS := -pthread
MM_LDLIBS := -ldw -lelf -lcapstone
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

FOLDERS := base trace symbolize report attach attach/keeper attach/probes
SOURCES := $(wildcard $(addsuffix /*.c,$(FOLDERS)))
OBJECTS := $(SOURCES:%.c=$(B)/%.o)
LIBRARY_OBJECTS := $(filter-out $(B)/attach/main.o,$(OBJECTS))

UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNITS := $(UNIT_SOURCES:tests/unit/%.c=$(B)/unit/%)
BENCHES := $(patsubst bench/%.c,build/bench/%,$(wildcard bench/*.c))

# A victim is one file; lib*.c is a shared object that a victim opens, and NAME_asm.S is linked into NAME.
VICTIM_C := $(wildcard tests/victims/*.c)
VICTIM_LIB := $(filter tests/victims/lib%,$(VICTIM_C))
VICTIMS := $(patsubst tests/victims/%.c,build/victims/%,$(filter-out $(VICTIM_LIB),$(VICTIM_C))) \
	$(patsubst tests/victims/%.cc,build/victims/%,$(wildcard tests/victims/*.cc)) \
	$(patsubst tests/victims/%.c,build/victims/%.so,$(VICTIM_LIB))
ifneq ($(wildcard tests/victims/hot.c),)
VICTIMS += build/victims/hot_static build/victims/hot_static_pie build/victims/hot_static_stripped
endif
VICTIM_FLAGS := -O2 -g -pthread

.DELETE_ON_ERROR:
.PHONY: all check unit units victims benches bench demo layers install clean FORCE

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

units: $(UNITS)

$(B)/unit/%: $(B)/tests/unit/%.o $(B)/libmm.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -lcmocka $(MM_LDLIBS) $(LDLIBS)

victims: $(VICTIMS)

build/victims/lib%.so: tests/victims/lib%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -MMD -MP -shared -fPIC -o $@ $<

build/victims/%_static: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -MMD -MP -static -o $@ $<

build/victims/%_static_pie: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -MMD -MP -static-pie -o $@ $<

build/victims/%_static_stripped: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -MMD -MP -static -s -o $@ $<

build/victims/%: tests/victims/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(VICTIM_FLAGS) -MMD -MP -o $@ $< $(wildcard tests/victims/$*_asm.S)

build/victims/%: tests/victims/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -std=gnu++17 $(VICTIM_FLAGS) -MMD -MP -o $@ $<

benches: $(BENCHES)

build/bench/%: bench/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -O2 -g -pthread $(WARN) -D_GNU_SOURCE -MMD -MP -o $@ $<

layers:
	$(PYTHON) tests/layers.py

# LeakSanitizer fails in a process that is traced, and some tests want an allocation to fail.
check unit: export MM_BUILD = $(B)
check unit: export ASAN_OPTIONS ?= detect_leaks=0:allocator_may_return_null=1

check: layers all units victims benches
	$(PYTHON) -m pytest -q tests

unit: units
	$(PYTHON) -m pytest -q tests/test_unit.py

bench: all benches
	$(PYTHON) bench/run.py

demo: all victims
	sh demo/demo.sh

install: mmattach
	$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(mandir)/man1
	$(INSTALL) -m 755 $(B)/mmattach $(DESTDIR)$(bindir)/mmattach
	$(INSTALL) -m 644 man/mmattach.1 $(DESTDIR)$(mandir)/man1/mmattach.1

clean:
	rm -rf build mmattach

# Without this make would take the units' objects for leftovers and delete them.
.SECONDARY:

-include $(OBJECTS:.o=.d) $(UNIT_SOURCES:%.c=$(B)/%.d) $(wildcard build/victims/*.d build/bench/*.d)
