// SPDX-License-Identifier: MIT
// account: how the watch went, last in the page: what it cost, what makes its numbers doubtful, which functions
// were watched, and the modules that are in its stacks.

// --- facts ---

function eventsText() {
	const lost = Object.entries(run.lost ?? {}).map(([why, n]) => `${count(n)} (${visible(why)})`);
	const speed = run.seconds > 0 ? ` (${count(run.events / run.seconds)}/s)` : "";

	return count(run.events) + speed + (lost.length ? ", LOST " + lost.join(", ") : ", none lost");
}

function stacksText() {
	return [run.stacks_cut ? `${things(run.stacks_cut, "stack")} cut short` : "",
		run.stacks_lost ? `${things(run.stacks_lost, "stack")} not followed to the end` : ""].filter(Boolean).join(", ");
}

function pauseText(v) {
	const late = v.expected_s > 0 && v.pause_s > 1.1 * v.expected_s
		? ` (the estimate was ${seconds(v.expected_s)})` : "";

	return `in a pause of ${seconds(v.pause_s)}${late}, ${things(v.threads, "thread")}` +
		(v.not_stopped ? `, ${count(v.not_stopped)} of them not stopped` : "") + `, ${size(v.bytes_copied)} copied`;
}

function sumsText(sums) {
	return VERDICTS.filter((v) => sums[v].blocks || !["indirect", "unknown"].includes(v)).map((v) => `${words.verdict[v]} ` +
		(sums[v].blocks ? `${size(sums[v].bytes)} in ${things(sums[v].blocks, "block")}` : "none")).join("; ");
}

function verdictFacts(v) {
	if (!v)
		return [];
	if (!v.known)
		return v.why_not ? fact("verdicts", "none: " + visible(v.why_not)) : [];
	return [...report.scan?.core ? [] : fact("verdicts", pauseText(v)),
		...fact("heap", (v.allocator ? `layout of ${visible(v.allocator)}; ` : "") +
			(v.census ? "all blocks, watched or not: " : "blocks that were watched: ") + sumsText(v.all))];
}

function budgetFacts(b) {
	if (!b)
		return [];
	return [...fact("budget", `${percent(b.promise, 1)} of the time: ${percent(b.spent, 1)} used, ` +
			`${percent(b.worst_ten_seconds, 1)} in the worst ten seconds`),
		...fact("sampled", `${things(b.sites, "call site")} found in the code, ${count(b.sites_hit)} of them called` +
			(b.settled ? `; ${count(b.settled)} of the sites seldom by now, as all is freed` : "") +
			(b.candidates ? `; ${count(b.candidates)} of the sites closely, as some of their groups may leak` : "")),
		...fact("lost", b.loss ? `in ${seconds(b.loss.over_s)} by the whole process: ` +
			`${things(b.loss.blocks, "block")}, ${size(b.loss.bytes)}; before that ${things(b.loss.before_blocks, "block")}` : ""),
		...fact("not seen", b.unfound ? `${things(b.unfound, "call site")} where no trap can be planted` : ""),
		...fact("not seen", b.closed ? `anything for ${seconds(b.closed_s)} in all, as the budget was used up, ` +
			"or mmattach got no processor" : "")];
}

function memoryText() {
	const m = report.memory;
	const resident = (p) => p.anonymous + p.file + p.shared;

	return m ? `RSS ${size(resident(m.last))}: anonymous ${signed(m.last.anonymous - m.first.anonymous, size)}, ` +
		`files ${signed(m.last.file - m.first.file, size)}` +
		(m.last.swapped || m.first.swapped ? `, swapped ${signed(m.last.swapped - m.first.swapped, size)}` : "") : "";
}

function hiddenText(hidden) {
	const parts = [
		hidden?.groups ? `${things(hidden.groups, "group")}, ${size(hidden.bytes)} in ` +
			things(hidden.blocks, "block") : "",
		hidden?.ref_groups ? `${things(hidden.ref_groups, "group")} of ${things(hidden.objects, "object")}` : ""];

	return parts.filter(Boolean).join("; ");
}

function callsText() {
	const t = report.totals;

	return `${things(t.allocs, "allocation")}, ${things(t.frees, "free")}` +
		(t.unmatched_frees ? `, ${count(t.unmatched_frees)} of blocks older than the watch` : "") +
		(t.double_frees ? `, ${things(t.double_frees, "DOUBLE FREE")}` : "");
}

// A scan says in its own part how long the process was stopped.
function watchFacts() {
	const howLong = isScan || !(run.seconds > 0) ? "" : seconds(run.seconds) + " ";

	const when = `${howLong}${isScan ? "" : "from "}${localTime(run.start)}`;

	return [...fact(isScan ? "scanned" : "watched", `${when}, ${run.mode}` +
			(isScan ? "" : `, by ${visible(run.engine)}`)),
		...run.sample_bytes ? fact("estimated", "all numbers of blocks and bytes, from a sample, one block for each " +
			`${size(run.sample_bytes)} allocated; what leaks less than ${size(3 * run.sample_bytes)} may be missing`) : [],
		...isScan ? [] : [...fact("events", eventsText()), ...fact("stacks", stacksText()),
			...run.seconds > 0 ? fact("stopped", report.stopped.join("; ")) : []],
		...fact("memory", memoryText()), ...budgetFacts(run.budget), ...verdictFacts(run.verdicts),
		...isScan ? [] : fact("calls", callsText()),
		...fact("also runs", report.runtime ? `${visible(report.runtime)}, whose own heap is not watched` : ""),
		...fact("left out by a filter", hiddenText(report.filtered)),
		...fact("suppressed", hiddenText(report.suppressed))];
}

function localTime(text) {
	const time = new Date(text);

	const two = (n) => String(Math.floor(n)).padStart(2, "0");
	const zone = -time.getTimezoneOffset();

	if (isNaN(time))
		return "a time that is not known";
	return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ` +
		`${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())} ` +
		`${zone < 0 ? "-" : "+"}${two(Math.abs(zone) / 60)}${two(Math.abs(zone) % 60)}`;
}

function processText(process) {
	const labels = Object.entries(process.labels).map(([key, value]) => `${visible(key)}=${visible(value)}`).join(",");

	return (process.comm || process.exe ? visible(process.comm ?? base(process.exe)) : "") + (process.pid ? ` (${process.pid})` : "") +
		(process.host ? ` on ${visible(process.host)}` : "") + (labels ? `, ${labels}` : "");
}

// Those without a trace are in no sum.
function processesText(processes) {
	const absent = processes.filter((p) => p.absent).length;

	return count(processes.length) + (absent ? `, of ${count(absent)} no trace` : "");
}

function targetFacts(target) {
	if (report.processes)
		return fact("processes", processesText(report.processes));
	return [...fact("process", target.pid > 0 ? `${visible(target.comm)} (${target.pid})` : visible(target.comm)),
		...fact("command", (target.cmdline ?? []).map(visible).join(" ")), ...fact("program", visible(target.exe))];
}

function sideFacts(name, side) {
	return fact(name, `${visible(side.comm)} (${side.pid}), watched for ${seconds(side.seconds)} from ` +
		`${localTime(side.start)}: ` +
		`${size(side.live_bytes)} live in ${things(side.live_blocks, "block")}`);
}

// --- lists ---

function listOf(title, lines, kind = "") {
	return lines.length ? [make("h3" + kind, {}, title), make("ul", {}, ...lines.map((line) => make("li", {}, line)))] : [];
}

function doubtLines() {
	const gaps = (run.gaps ?? []).map((gap) =>
		`nothing was seen for ${seconds(gap.seconds)} from ${seconds(gap.at_s)} on` + (gap.why ? ": " + visible(gap.why) : ""));

	return [...gaps, ...(run.verdicts?.doubts ?? []).map(visible),
		...run.ranges_left_out ? [`${things(run.ranges_left_out, "range")} of mappings left out`] : []];
}

function plainTable(id, label, columns, list) {
	const table = new Table(id, label, columns);

	table.set(list.map((row, n) => ({ id: n, ...row })));
	table.element.firstChild.classList.add("plain");
	return table.element;
}

function tableOf(title, id, columns, list) {
	return list.length ? [make("h3", {}, title), plainTable(id, title, columns, list)] : [];
}

function textColumn(id, text, value) {
	return { id, text, cell: (row) => make("bdi", {}, value(row)), by: value, ascending: true };
}

const PROBES = [
	{ id: "count", text: "hits", cell: (row) => row.note ? "" : count(row.hits), by: (row) => row.hits },
	textColumn("family", "family", (row) => visible(row.family)),
	textColumn("text", "rule", (row) => visible(row.rule)),
	textColumn("where", "in", (row) => row.note ? "NOT WATCHED: " + visible(row.note) : visible(base(row.module))),
];

const CHILDREN = [
	{ id: "count", text: "pid", cell: (row) => String(row.pid), by: (row) => row.pid, ascending: true },
	{ id: "bytes", text: "RSS", cell: (row) => size(residentOf(row)), by: residentOf },
	{ id: "delta", text: "growth", cell: (row) => signed(row.growth, size), by: (row) => row.growth },
	textColumn("where", "process", (row) => visible(row.name)),
];

// Of a merged trace; those of which there is none come last.
const PROCESSES = [
	{ id: "bytes", text: "live", cell: (row) => row.absent ? "" : size(row.live_bytes), by: (row) => row.absent ? -1 : row.live_bytes },
	{ id: "count", text: "blocks", cell: (row) => row.absent ? "" : count(row.live_blocks), by: (row) => row.live_blocks },
	{ id: "delta", text: "lost", cell: (row) => row.verdicts_known ? size(lostOf(row)) : "", by: (row) => row.verdicts_known ? lostOf(row) : -1 },
	textColumn("text", "process", processText),
	textColumn("where", "", (row) => row.absent ? "NO TRACE: " + visible(row.how) : row.how ? visible(row.how)
		: row.ended ? "" : "its trace has no end"),
];

function worstFirst(processes) {
	return [...processes].sort((a, b) => a.absent - b.absent || b.live_bytes - a.live_bytes);
}

function lostOf(process) {
	return ["definite", "indirect", "possible"].reduce((sum, v) => sum + process.verdicts[v].bytes, 0);
}

function residentOf(child) {
	return child.last.anonymous + child.last.file + child.last.shared;
}

const USED = [
	{ id: "count", text: "groups", cell: (row) => count(row.groups), by: (row) => row.groups },
	{ id: "bytes", text: "bytes", cell: (row) => size(row.bytes), by: (row) => row.bytes },
	textColumn("text", "suppression", (row) => visible(row.name)),
	textColumn("where", "of", (row) => visible(row.where)),
];

const MODULES = [
	textColumn("where", "module", (row) => visible(row.path)),
	textColumn("text", "build id", (row) => visible(row.build_id)),
];

function modules() {
	const list = [];

	for (let i = 0; i < report.modules.length; i += 2)
		list.push({ path: report.modules[i], build_id: report.modules[i + 1] });
	return list;
}

function putAccount() {
	const facts = isDiff ? [...sideFacts("before", report.old), ...sideFacts("now", report.new),
		...fact("", report.same_process ? "both are watches of one process: the new one does not know the " +
			"blocks that the old one left live" : "")] : [...targetFacts(report.target), ...watchFacts()];

	section("account", isDiff ? "What is compared" : isScan ? "How it was scanned" : "How it was watched",
		make("dl.facts", {}, ...facts),
		...listOf("Doubts", doubtLines(), ".suspect"), ...listOf("Notes", (report.notes ?? []).map(visible)),
		...tableOf("Processes", "processes-table", PROCESSES, worstFirst(report.processes ?? [])),
		...tableOf("Child processes, not watched", "children-table", CHILDREN, report.children ?? []),
		...tableOf("Functions that were watched", "probes-table", PROBES, run.probes ?? []),
		...tableOf("Suppressions that were used", "used-table", USED, report.suppressions_used ?? []),
		...tableOf("Modules in the stacks", "modules-table", MODULES, modules()));
}
