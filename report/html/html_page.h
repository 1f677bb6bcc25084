/* SPDX-License-Identifier: MIT */
/*
 * html_page: the page without a report, as make puts it together from page.html, page.css and the scripts,
 * and makes it part of the program: the data of a report goes between the two parts.
 */
#ifndef MM_HTML_PAGE_H
#define MM_HTML_PAGE_H

#include <stdint.h>

extern const char html_page_before[], html_page_behind[];
extern const uint64_t html_page_before_size, html_page_behind_size;

#endif
