/* SPDX-License-Identifier: MIT */
/* What call sites did to the references of objects. */
#include "report/fields/parts.h"
#include "report/fields/table.h"

#include "report/names/sitename.h"

#define USE(F)												\
	F(real, per_object, ALL, u->per_object, "On each object, on average.")				\
	F(uint, count, ALL, u->count, "On all objects of the group.")

#define ACQUIRED(F)											\
	USE(F)												\
	F(uint, outstanding, ALL, u->outstanding,							\
	  "Of those acquired here on any object: on objects that still exist.")				\
	F(uint, acquired_in_all, ALL, u->acquired_in_all, "Acquired here on any object.")		\
	F(uint, several, ALL, u->several,								\
	  "Objects with two or more surplus references, of which it acquired some.")			\
	F(uint, as_many, ALL, u->as_many, "Of these: it acquired just as many as are surplus.")		\
	F(string, module, ALL, u->module, "That of the call site; empty if it is not known.")		\
	F(uint, module_acquired, ALL, u->module_acquired,						\
	  "By all call sites of the module, on objects of the group.")					\
	F(uint, module_released, ALL, u->module_released, "Released by them.")				\
	F(bool, follows, P, summary_use_follows(u), "No other call site's number matches.")		\
	FIELDS_OF_SITE(F, &u->stack, NULL)

#define RELEASED(F)											\
	USE(F)												\
	FIELDS_OF_SITE(F, &u->stack, NULL)

FIELDS(acquired, const struct summary_use *u, ACQUIRED, "A call site that acquired references.");
FIELDS(released, const struct summary_use *u, RELEASED, "A call site that released references.");
