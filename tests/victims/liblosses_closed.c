/* SPDX-License-Identifier: MIT */
/* liblosses_closed: the same library under another name, to be closed again. */
#include "liblosses.c"
