/* SPDX-License-Identifier: MIT */
#include "attach/scan_content.h"

int scan_classify(struct scan *sc)
{
	(void)sc;
	return 0;
}

void scan_classes_free(struct scan *sc)
{
	(void)sc;
}

uint32_t scan_class_of(const struct scan *sc, size_t block)
{
	(void)sc;
	(void)block;
	return SCAN_NO_CLASS;
}

const char *scan_class_name(const struct scan *sc, uint32_t class, const char **module)
{
	(void)sc;
	(void)class;
	*module = NULL;
	return NULL;
}

void scan_content(const struct scan *sc, const size_t *blocks, size_t n, struct strbuf *out)
{
	(void)sc;
	(void)blocks;
	(void)n;
	(void)out;
}
