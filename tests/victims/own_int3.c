/* SPDX-License-Identifier: MIT */
/*
 * own_int3 [masked]: a process with SIGTRAPs of its own, and a handler that tells them apart by their
 * siginfo.
 *
 * Hot threads malloc, free, execute int3 and raise(SIGTRAP); another thread sends SIGTRAP to the whole
 * process with kill(), and waits for each to arrive, since standard signals do not queue. With "masked" a
 * further thread allocates with every signal blocked.
 *
 * The order "end" gives {"int3", "raised", "killed": each [done, seen], "strange": SIGTRAPs of unknown origin
 * or address, "handler_kept", "mask_kept", "damaged"}.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <ucontext.h>

#include "victim.h"

#define HOT 3
#define ARRIVAL_NS 5000000000u

static atomic_bool ending, sending;
static _Atomic uint64_t int3_done, raised_done, killed_done;
static _Atomic uint64_t int3_seen, raised_seen, killed_seen, strange;
static _Atomic uint64_t damaged;
static bool mask_kept = true;

__attribute__((noinline, noclone)) static void own_int3(void)
{
	__asm__ volatile("int3" : : : "memory");
}

/* A breakpoint handler checks the byte before the pc. */
static bool after_own_int3(const ucontext_t *u)
{
	return ((const unsigned char *)u->uc_mcontext.gregs[REG_RIP])[-1] == 0xcc;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	if (info->si_code == SI_KERNEL && after_own_int3(context))
		int3_seen++;
	else if (info->si_code == SI_TKILL && info->si_pid == getpid())
		raised_seen++;
	else if (info->si_code == SI_USER && info->si_pid == getpid())
		killed_seen++;
	else
		strange++;
}

static void block_all(void)
{
	sigset_t set;

	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void block_others(void)
{
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void *hot(void *arg)
{
	uint64_t rng = 1234567u + (uint64_t)(uintptr_t)arg;

	while (!ending) {
		damaged += !victim_malloc_free(&rng);
		if (rng % 8 == 0) {
			int3_done++;
			own_int3();
		} else if (rng % 8 == 1) {
			raised_done++;
			raise(SIGTRAP);
		}
	}
	return NULL;
}

static void *sender(void *arg)
{
	struct timespec t = { .tv_nsec = 100000 };

	block_others();
	while (sending) {
		uint64_t start = now_ns();

		kill(getpid(), SIGTRAP);
		killed_done++;
		while (killed_seen < killed_done && now_ns() - start < ARRIVAL_NS)
			nanosleep(&t, NULL);
	}
	return arg;
}

static void *masked(void *arg)
{
	struct timespec t = { .tv_nsec = 1000000 };
	uint64_t rng = 7654321;
	sigset_t now;

	block_all();
	while (!ending) {
		damaged += !victim_malloc_free(&rng);
		pthread_sigmask(SIG_BLOCK, NULL, &now);
		mask_kept &= sigismember(&now, SIGTRAP) == 1;
		nanosleep(&t, NULL);
	}
	return arg;
}

static void print_end(void)
{
	struct sigaction now;

	sigaction(SIGTRAP, NULL, &now);
	printf("{\"int3\": [%llu, %llu], \"raised\": [%llu, %llu], \"killed\": [%llu, %llu], \"strange\": "
	       "%llu, "
	       "\"handler_kept\": %s, \"mask_kept\": %s, \"damaged\": %llu}\n",
	       (unsigned long long)int3_done, (unsigned long long)int3_seen, (unsigned long long)raised_done,
	       (unsigned long long)raised_seen, (unsigned long long)killed_done,
	       (unsigned long long)killed_seen, (unsigned long long)strange,
	       now.sa_sigaction == on_trap ? "true" : "false", mask_kept ? "true" : "false",
	       (unsigned long long)damaged);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART };
	bool with_masked = argc > 1 && strcmp(argv[1], "masked") == 0;
	pthread_t hots[HOT], send, mask;
	char line[ORDER_MAX];

	sigaction(SIGTRAP, &act, NULL);
	sending = true;
	for (uintptr_t i = 0; i < HOT; i++)
		pthread_create(&hots[i], NULL, hot, (void *)i);
	pthread_create(&send, NULL, sender, NULL);
	if (with_masked)
		pthread_create(&mask, NULL, masked, NULL);
	block_others();
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		;
	sending = false;
	pthread_join(send, NULL);
	ending = true;
	for (int i = 0; i < HOT; i++)
		pthread_join(hots[i], NULL);
	if (with_masked)
		pthread_join(mask, NULL);
	print_end();
	return 0;
}
