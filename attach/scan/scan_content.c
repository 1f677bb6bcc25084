/* SPDX-License-Identifier: MIT */
#include "attach/scan/scan_content.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "heap/classify/content.h"

static int classify_all(struct scan *sc)
{
	int r = 0;

	for (size_t i = 0; i < sc->nblocks && r == 0; i++)
		r = classify_block(sc->classes, sc->blocks[i].addr, sc->blocks[i].size, &sc->class_of[i]);
	return r;
}

/* Without a name it is not certain that it is a class. */
static void drop_nameless(struct scan *sc)
{
	for (size_t i = 0; i < sc->nblocks; i++)
		if (sc->class_of[i] != CLASS_NONE && !classify_name(sc->classes, sc->class_of[i]))
			sc->class_of[i] = CLASS_NONE;
}

int scan_classify(struct scan *sc)
{
	int r;

	sc->class_of = calloc(sc->nblocks + 1, sizeof(*sc->class_of));
	if (!sc->class_of)
		return -ENOMEM;
	r = classify_new(&sc->snapshot, &sc->backing, &sc->classes);
	if (r == 0)
		r = classify_all(sc);
	if (r < 0)
		return r;
	r = classify_names(sc->classes);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		log_warn_errno(r, "names of C++ classes are as the compiler writes them");
	drop_nameless(sc);
	return 0;
}

void scan_classes_free(struct scan *sc)
{
	classify_free(sc->classes);
	free(sc->class_of);
	sc->classes = NULL;
	sc->class_of = NULL;
}

uint32_t scan_class_of(const struct scan *sc, size_t block)
{
	return sc->class_of ? sc->class_of[block] : CLASS_NONE;
}

void scan_content(const struct scan *sc, const size_t *blocks, size_t n, struct strbuf *out)
{
	struct content all[SCAN_SAMPLES];

	for (size_t i = 0; i < n && i < SCAN_SAMPLES; i++) {
		const struct block *b = &sc->blocks[blocks[i]];

		content_look(&sc->snapshot, sc->blocks, sc->nblocks, b->addr, b->size, &all[i]);
	}
	content_describe(all, n < SCAN_SAMPLES ? n : SCAN_SAMPLES, out);
}
