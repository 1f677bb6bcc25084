/* SPDX-License-Identifier: MIT */
/* endsignals: see endsignals.h. */
#include "base/endsignals.h"

#include <signal.h>
#include <stddef.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t came;

static void see(int signal_number)
{
	(void)signal_number;
	came = 1;
}

static void handle_by(void (*handler)(int))
{
	const struct sigaction action = { .sa_handler = handler };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction before;

		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

void endsignals_catch(void)
{
	handle_by(see);
}

void endsignals_release(void)
{
	handle_by(SIG_DFL);
}

bool endsignals_came(void)
{
	return came;
}
