/* SPDX-License-Identifier: MIT */
/* version: what --version, the reports and the traces say. */
#ifndef MM_VERSION_H
#define MM_VERSION_H

#define MM_VERSION "0.1"

#endif
