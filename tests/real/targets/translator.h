/* SPDX-License-Identifier: MIT */
/*
 * What the GlusterFS translators of these tests share: how they record their losses, one line each, in the
 * file that the option "ledger" names:
 *
 *	dict 0x7f0a5c001e28
 */
#ifndef TRANSLATOR_H
#define TRANSLATOR_H

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <glusterfs/defaults.h>
#include <glusterfs/xlator.h>

static inline void tell_lost(int ledger, const char *what, const void *object)
{
	dprintf(ledger, "%s %p\n", what, object);
}

#endif
