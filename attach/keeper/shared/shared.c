/* SPDX-License-Identifier: MIT */
#include "attach/keeper/shared/shared.h"

const char *leave_reason_text(enum leave_reason r)
{
	static const char *const texts[] = {
#define X(name, text) text,
		LEAVE_REASONS(X)
#undef X
	};

	return r < LEAVE_REASONS_END ? texts[r] : "unknown";
}
