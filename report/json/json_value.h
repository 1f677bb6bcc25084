/* SPDX-License-Identifier: MIT */
/* json_value: a value of a field that is neither an object nor a list of objects, as JSON. */
#ifndef MM_JSON_VALUE_H
#define MM_JSON_VALUE_H

#include "base/strbuf.h"
#include "report/fields/field.h"

/* @for_page: series without points that a curve would not show. */
void json_value(struct strbuf *sb, const struct field *f, const struct field_value *v, bool for_page);

#endif
