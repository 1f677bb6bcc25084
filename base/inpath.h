/* SPDX-License-Identifier: MIT */
/* inpath: is a program installed? */
#ifndef MM_INPATH_H
#define MM_INPATH_H

#include <stdbool.h>

/* Would execlp find @program, by the environment's PATH? */
bool is_in_path(const char *program);

#endif
