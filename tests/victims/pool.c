/* SPDX-License-Identifier: MIT */
/*
 * pool: a process with workers, as nginx or PostgreSQL have them. Each worker allocates only when it is told to, so its
 * counts are exact whenever a watch of it has begun.
 *
 *	fork N	N more workers by fork; {"workers": [pid, ...]}: all that there are
 *	exec	all workers execute this program again, which is a worker, too; {}
 *	go K	each worker allocates K blocks of BYTES and keeps them (the last one 10 * K), allocates and frees K
 *		more, and frees one that it has inherited (not after an exec);
 *		{"allocs": of all, "frees": of all, "older": frees of inherited blocks, "kept": blocks, "worst": pid,
 *		"worst_kept": its blocks}
 *	brief N	N children, one after the other, that end at once; {"bad": those that did not end well}
 *	end	the workers end; {"bad": those that did not end well}
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "victim.h"

#define MOST 512
#define BYTES 1000
#define INHERITED 16

struct worker {
	pid_t pid;
	int orders, answers;
};

static struct worker workers[MOST];
static unsigned nworkers, ninherited = INHERITED;
static void *inherited[INHERITED];

/* --- a worker --- */

static void allocate(unsigned keep, unsigned pairs)
{
	for (unsigned i = 0; i < keep; i++) {
		void *p = malloc(BYTES);

		escape(p);
	}
	for (unsigned i = 0; i < pairs; i++) {
		void *p = malloc(BYTES);

		escape(p);
		free(p);
	}
	if (ninherited)
		free(inherited[--ninherited]);
}

static void execute_again(int orders, int answers)
{
	char in[16], out[16];

	snprintf(in, sizeof(in), "%d", orders);
	snprintf(out, sizeof(out), "%d", answers);
	execl("/proc/self/exe", "pool", in, out, (char *)NULL);
	_exit(8);
}

static void work(int orders, int answers)
{
	unsigned order[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(orders, order, sizeof(order)) == sizeof(order)) {
		if (!order[0])
			execute_again(orders, answers);
		allocate(order[0], order[1]);
		if (write(answers, "", 1) != 1)
			_exit(7);
	}
	_exit(0);
}

/* --- the master --- */

static void make_worker(void)
{
	struct worker *w = &workers[nworkers];
	int orders[2], answers[2];

	if (pipe(orders) < 0 || pipe(answers) < 0)
		victim_die("pipe");
	w->pid = fork();
	if (w->pid < 0)
		victim_die("fork");
	if (w->pid == 0) {
		for (unsigned i = 0; i < nworkers; i++)
			close(workers[i].orders);
		close(orders[1]);
		work(orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	w->orders = orders[1];
	w->answers = answers[0];
	nworkers++;
}

static void list_workers(void)
{
	printf("{\"workers\": [");
	for (unsigned i = 0; i < nworkers; i++)
		printf("%s%d", i ? ", " : "", (int)workers[i].pid);
	printf("]}\n");
}

static void order_all(unsigned keep, unsigned pairs, bool answered)
{
	char done;

	for (unsigned i = 0; i < nworkers; i++) {
		const unsigned order[2] = { i + 1 == nworkers ? keep * 10 : keep, pairs };

		if (write(workers[i].orders, order, sizeof(order)) != sizeof(order))
			victim_die("order");
	}
	for (unsigned i = 0; answered && i < nworkers; i++)
		if (read(workers[i].answers, &done, 1) != 1)
			victim_die("answer");
}

static void go(unsigned k)
{
	const unsigned kept = nworkers ? k * (nworkers + 9) : 0, older = ninherited ? nworkers : 0;

	order_all(k, k, true);
	printf("{\"allocs\": %u, \"frees\": %u, \"older\": %u, \"kept\": %u, \"worst\": %d, \"worst_kept\": %u}\n",
	       kept + k * nworkers, k * nworkers, older, kept, nworkers ? (int)workers[nworkers - 1].pid : 0, k * 10);
}

static unsigned ended_badly(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) != pid || status != 0;
}

static unsigned brief(unsigned n)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < n; i++) {
		const pid_t pid = fork();

		if (pid == 0) {
			allocate(1, 1);
			_exit(0);
		}
		bad += ended_badly(pid);
	}
	return bad;
}

static unsigned end(void)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < nworkers; i++)
		close(workers[i].orders);
	for (unsigned i = 0; i < nworkers; i++)
		bad += ended_badly(workers[i].pid);
	return bad;
}

static void serve(const char *order)
{
	const char *space = strchr(order, ' ');
	const unsigned n = space ? (unsigned)atoi(space + 1) : 0;

	if (!strncmp(order, "fork ", 5)) {
		for (unsigned i = 0; i < n && nworkers < MOST; i++)
			make_worker();
		list_workers();
	} else if (!strcmp(order, "exec")) {
		order_all(0, 0, false);
		ninherited = 0;
		puts("{}");
	} else if (!strncmp(order, "go ", 3)) {
		go(n);
	} else if (!strncmp(order, "brief ", 6)) {
		printf("{\"bad\": %u}\n", brief(n));
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[ORDER_MAX];
	const char *order;

	if (argc == 3) {
		ninherited = 0;
		work(atoi(argv[1]), atoi(argv[2]));
	}
	for (unsigned i = 0; i < INHERITED; i++)
		inherited[i] = malloc(BYTES);
	victim_ready();
	while (strcmp(order = victim_order(line), "end") != 0)
		serve(order);
	printf("{\"bad\": %u}\n", end());
	fflush(stdout);
	return 0;
}
