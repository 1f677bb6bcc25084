// SPDX-License-Identifier: MIT
//
// cxx_service THREADS: a service in C++, as many are. Each thread reads requests from a socket, parses them into
// strings and maps, looks up and changes sessions that all threads share, and writes an answer. The clients, one
// for each thread, are in a process of their own, which is not watched.
//
// It prints "ready PID", then answers each line of stdin with {"served": N}, the requests served until then.
// Ends with its stdin.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace {

constexpr std::size_t SESSIONS = 1000;

using Fields = std::map<std::string, std::string>;

struct Request {
	std::string method, path;
	Fields query, headers;
};

struct Session {
	std::string user;
	std::vector<std::string> visited;
};

std::atomic<unsigned long> served;

// The part of @text before @end, which is cut from it together with @end.
std::string_view cut(std::string_view &text, char end)
{
	const auto at = text.find(end);
	const auto part = text.substr(0, at);

	text = at == text.npos ? std::string_view() : text.substr(at + 1);
	return part;
}

void parse_fields(std::string_view text, char between, char is, Fields &out)
{
	while (!text.empty()) {
		auto field = cut(text, between);
		const auto name = cut(field, is);
		out[std::string(name)] = std::string(field);
	}
}

Request parse(std::string_view text)
{
	Request r;
	auto line = cut(text, '\n');

	r.method = cut(line, ' ');
	auto target = cut(line, ' ');
	r.path = cut(target, '?');
	parse_fields(target, '&', '=', r.query);
	parse_fields(text, '\n', ':', r.headers);
	return r;
}

class Sessions {
public:
	// What the session has visited before @path.
	std::string visit(const std::string &id, const std::string &user, const std::string &path)
	{
		std::lock_guard lock(mutex_);
		auto &session = sessions_[id];
		if (!session)
			session = std::make_unique<Session>();
		session->user = user;
		std::string before;
		for (const auto &each : session->visited)
			before += each + " ";
		session->visited.push_back(path);
		if (session->visited.size() > 8)
			sessions_.erase(id);
		return before;
	}

private:
	std::mutex mutex_;
	std::unordered_map<std::string, std::unique_ptr<Session>> sessions_;
};

std::string answer(Sessions &sessions, const Request &r)
{
	std::string body = "<p>" + r.path + ": " + sessions.visit(r.query.at("session"), r.query.at("user"), r.path);

	for (const auto &[name, value] : r.headers)
		body += name + "=" + value + ";";
	return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

void serve(int socket, Sessions &sessions)
{
	char text[4096];

	for (ssize_t n; (n = read(socket, text, sizeof(text))) > 0;) {
		const auto reply = answer(sessions, parse(std::string_view(text, static_cast<std::size_t>(n))));
		if (write(socket, reply.data(), reply.size()) < 0)
			break;
		served.fetch_add(1, std::memory_order_relaxed);
	}
}

void ask(int socket, unsigned long first)
{
	char reply[4096];

	for (unsigned long i = first;; i++) {
		const std::string text = "GET /shop/articles/" + std::to_string(i % 977) +
			"?session=" + std::to_string(i * 7919 % SESSIONS) +
			"&user=user-with-a-long-name-" + std::to_string(i % 311) + "&page=2 HTTP/1.1\n"
			"Host:www.example.org\nUser-Agent:cxx_service of make bench\nAccept:text/html\n"
			"Accept-Language:en-GB, en\nCookie:a-value-longer-than-a-short-string";
		if (write(socket, text.data(), text.size()) < 0 || read(socket, reply, sizeof(reply)) <= 0)
			return;
	}
}

// The clients of the sockets, until these are closed.
int be_clients(char **sockets)
{
	std::vector<std::thread> threads;

	for (; *sockets; sockets++)
		threads.emplace_back(ask, std::stoi(*sockets), threads.size() * 100);
	for (auto &thread : threads)
		thread.join();
	return 0;
}

// In a process of its own, which uses the system's libraries: what is probed in those of the service is not
// probed there.
[[noreturn]] void exec_clients(const std::vector<int> &sockets)
{
	std::vector<std::string> words = {"cxx_service", "clients"};
	std::vector<char *> argv;

	for (const int socket : sockets)
		words.push_back(std::to_string(socket));
	for (auto &word : words)
		argv.push_back(word.data());
	argv.push_back(nullptr);
	unsetenv("LD_LIBRARY_PATH");
	execv("/proc/self/exe", argv.data());
	_exit(1);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc > 1 && argv[1] == std::string_view("clients"))
		return be_clients(argv + 2);
	const int n = argc > 1 ? std::stoi(argv[1]) : 4;
	std::vector<int> ours, theirs;
	std::vector<std::thread> threads;
	Sessions sessions;

	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < n; i++) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
			return 1;
		ours.push_back(pair[0]);
		theirs.push_back(pair[1]);
	}
	const pid_t clients = fork();
	if (clients == 0) {
		for (const int socket : ours)
			close(socket);
		exec_clients(theirs);
	}
	for (const int socket : theirs)
		close(socket);
	for (const int socket : ours)
		threads.emplace_back(serve, socket, std::ref(sessions));
	std::printf("ready %d\n", getpid());
	std::fflush(stdout);
	for (std::string line; std::getline(std::cin, line);) {
		std::printf("{\"served\": %lu}\n", served.load());
		std::fflush(stdout);
	}
	for (const int socket : ours)
		shutdown(socket, SHUT_RDWR);
	for (auto &thread : threads)
		thread.join();
	waitpid(clients, nullptr, 0);
	return 0;
}
