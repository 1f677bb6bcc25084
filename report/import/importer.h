/* SPDX-License-Identifier: MIT */
/*
 * importer: what all imports of text files share: facts for a ledger.
 *
 *	importer_init, import_lines_... (report/import/import_lines.h), importer_finish, importer_fini
 *
 * The reader of a format reports that a call site is a stack of one frame, that a block was allocated there,
 * or that a block was freed there. What a free means (of a live block, of an older one, of one that was freed
 * before) is found out here.
 */
#ifndef MM_IMPORTER_H
#define MM_IMPORTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "report/ledger/ledger.h"
#include "report/ledger/released.h"

struct importer {
	struct ledger *ledger;
	struct released *released;
	const char *tool;	/* "mmleak" */
	uint64_t allocs, frees;	/* lines of each kind */
	uint64_t events;	/* calls */
	uint64_t failed;	/* calls that got no memory */
	uint64_t bad;		/* lines that are not of the format */
	uint64_t good;		/* lines that are */
	uint64_t late;		/* blocks whose free was written after the next use of their address */
	uint32_t nstacks, nmodules, family;
};

/* @l is initialised here; ledger_fini and importer_fini in any case. 0, -ENOMEM or -EIO (logged). */
must_check int importer_init(struct importer *im, struct ledger *l, const char *tool);
void importer_fini(struct importer *im);

/* Define the target; what is not known is 0 or NULL. 0 or -ENOMEM (logged). */
must_check int importer_target(struct importer *im, int32_t pid, const char *exe);

/* A sentence for the report. 0 or -ENOMEM. */
must_check int importer_note(struct importer *im, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Add the probes, counts and notes about what was read; @source says what it was read from. 0 or -ENOMEM
 * (logged).
 */
must_check int importer_finish(struct importer *im, const char *source);

/* Define a module without build id; its number in @number. 0; -ENOMEM; -EOVERFLOW: too many. */
must_check int importer_module(struct importer *im, taddr bias, taddr lo, taddr hi, const char *path,
			       uint32_t *number);

/*
 * Define a stack of one frame with return address @pc; @module is a number + 1 or FACT_NONE, @symbol the
 * frame's name or NULL. 0; -ENOMEM; -EOVERFLOW: too many.
 */
must_check int importer_site(struct importer *im, taddr pc, uint32_t module, const char *symbol,
			     uint32_t *stack);

/* 0 or -ENOMEM. */
must_check int importer_alloc(struct importer *im, taddr addr, uint64_t size, uint32_t stack);
must_check int importer_release(struct importer *im, taddr addr, uint32_t stack);

/*
 * Read the formats from memory, for tests and the fuzzer. As import_mmleak and import_mtrace, but bad input
 * is not logged.
 */
must_check int import_mmleak_text(const char *text, size_t n, const char *maps, size_t nmaps,
				  struct ledger *l);
must_check int import_mtrace_text(const char *text, size_t n, struct ledger *l);

#endif
