// SPDX-License-Identifier: MIT
// data: the report, as what the graph and the table show. What a row is, what it is called, its number, verdict,
// growth and share are in the data (report/names/rows.h): nothing of that is decided here.
//
//	row	{id, mark, family, verdict, stack, wrappers, end, where, group, ...}: "[3]"; group: what its details
//		show that all of its groups have
//	part	of a row: a group, one stack with one verdict, of which the graph has the colours
//	name	of a frame: function and module, which many frames share; a number

const report = JSON.parse(document.getElementById("report").textContent);
const isDiff = "changes" in report;
const isScan = "scan" in report;
const run = report.run ?? {};
const isSampled = run.mode === "sampled";
const { words } = report;		// what a reader is told of verdicts, growth, ...
const VERDICTS = Object.keys(words.verdict);	// the worst first
const span = { from: 0, to: run.seconds ?? 0, whole: true };	// what the plot of growth has selected

// --- frames ---

// Numbers, in one list: a frame begins at FRAME times its number.
const [ADDRESS, MODULE, FUNCTION, FILE, LINE, INLINED, FRAME] = Array(7).keys();
const { frames } = report;
// By name: a frame that has it, and what is made of that when it is first needed: few are ever shown.
const nameFrames = [], nameTexts = [], nameModules = [], nameShorts = [];
const madeNames = new Map();		// of what is no frame with a function: its key -> name

// Each is four elements: how much of the string before begins it, and ends it, what is between, and what it is
// called where there is little room: 0, so many characters of it, or another string.
const STRING = 4, SHORT = 3, strings = new Array(report.strings.length / STRING);

function stringAt(n) {
	const coded = report.strings;
	let i = n;

	while (strings[i] === undefined && (coded[i * STRING] || coded[i * STRING + 1]))
		i--;
	for (strings[i] ??= coded[i * STRING + 2]; i < n; i++) {
		const at = (i + 1) * STRING, before = strings[i];
		const end = before.slice(before.length - coded[at + 1]);
		strings[i + 1] = before.slice(0, coded[at]) + coded[at + 2] + end;
	}
	return strings[n];
}

function shortAt(n) {
	const its = report.strings[n * STRING + SHORT];

	return typeof its === "string" ? its : its ? stringAt(n).slice(0, its) : stringAt(n);
}

function frameString(frame, member) {
	return visible(stringAt(frames[frame * FRAME + member]));
}

function frameNumber(frame, member) {
	return frames[frame * FRAME + member];
}

// Those that a number cannot hold are strings.
function hex(address) {
	return typeof address === "string" ? address : "0x" + address.toString(16);
}

function placeOf(frame) {
	return base(frameString(frame, MODULE)) + "+" + hex(frameNumber(frame, ADDRESS));
}

// Of frames without a function: module and address.
function addressOf(frame) {
	return frameNumber(frame, MODULE) ? placeOf(frame) : hex(frameNumber(frame, ADDRESS));
}

// @text and @module of a name that is not a frame's.
function addName(key, text, module) {
	let n = madeNames.get(key);

	if (n === undefined) {
		n = nameFrames.push(-1) - 1;
		nameTexts[n] = text;
		nameModules[n] = module;
		madeNames.set(key, n);
	}
	return n;
}

// Most functions are in one module: @first has a function's name, @others those in its other modules.
function numberNames() {
	const first = new Int32Array(strings.length).fill(-1), others = new Map();
	const numbers = new Int32Array(frames.length / FRAME);

	for (let i = 0, at = 0; i < numbers.length; i++, at += FRAME) {
		const called = frames[at + FUNCTION], module = frames[at + MODULE];
		const known = called ? first[called] : -1;

		if (!called) {
			numbers[i] = addName(addressOf(i), addressOf(i), "");
		} else if (known < 0) {
			numbers[i] = first[called] = nameFrames.push(i) - 1;
		} else if (frames[nameFrames[known] * FRAME + MODULE] === module) {
			numbers[i] = known;
		} else {
			const key = called + " " + module;
			if (!others.has(key))
				others.set(key, nameFrames.push(i) - 1);
			numbers[i] = others.get(key);
		}
	}
	return numbers;
}

function nameText(n) {
	return nameTexts[n] ??= frameString(nameFrames[n], FUNCTION);
}

function nameModule(n) {
	return nameModules[n] ??= frameString(nameFrames[n], MODULE);
}

function nameShort(n) {
	return nameShorts[n] ??= nameFrames[n] < 0 ? nameText(n)
		: visible(shortAt(frames[nameFrames[n] * FRAME + FUNCTION]));
}

// --- search ---

const lowered = [];			// names
const SLICE_MS = 8;
const waiting = [];			// searches that were asked for before the names were prepared
let isPrepared = false;

function lower(n) {
	return lowered[n] ??= nameText(n).toLowerCase();
}

// A Uint8Array by name: 1 if it contains @text, in whatever case; null for no text.
function namesWith(text) {
	const wanted = text.trim().toLowerCase();
	const found = new Uint8Array(nameFrames.length);

	if (!wanted)
		return null;
	for (let n = 0; n < found.length; n++)
		found[n] = lower(n).includes(wanted) ? 1 : 0;
	return found;
}

// In slices that no key waits for. What is searched for earlier is found when it is done.
function prepareSearch() {
	const until = performance.now() + SLICE_MS;

	while (lowered.length < nameFrames.length && performance.now() < until)
		for (let n = lowered.length, end = Math.min(n + 100, nameFrames.length); n < end; n++)
			lower(n);
	isPrepared = lowered.length >= nameFrames.length;
	if (!isPrepared)
		setTimeout(prepareSearch);
	else
		waiting.splice(0).forEach((search) => search());
}

function whenPrepared(search) {
	if (isPrepared)
		search();
	else
		waiting.push(search);
}

setTimeout(prepareSearch);

// --- sources ---

function sourceOf(frame) {
	const line = frameNumber(frame, LINE);

	return frameNumber(frame, FILE) ? frameString(frame, FILE) + (line ? ":" + line : "") : "";
}

const nameOfFrame = numberNames();

// --- rows ---

function bytesAt(series, at) {
	let bytes = 0;

	for (const [time, value] of series) {
		if (time > at)
			break;
		bytes = value;
	}
	return bytes;
}

function rises(growth) {
	return growth.shape === "grows" || growth.shape === "slows";
}

function inSpan(row) {
	return bytesAt(row.series, span.to) - bytesAt(row.series, span.from);
}

function estimateOf(group) {
	return group.estimate ? { ...group.estimate, allocs_per_minute: group.allocs_per_minute } : null;
}

function partOfGroup(group, id) {
	return {
		id, group, row: group.row, family: group.family, verdict: group.verdict,
		bytes: group.bytes, blocks: group.blocks, allocs: group.split ? 0 : group.allocs, allocated: group.split ? 0 : group.bytes_allocated,
		stack: group.stack, wrappers: group.wrappers, end: group.stack_end,
		series: group.series, oldest: group.oldest_s, estimate: estimateOf(group),
		label: group.label ?? null,
	};
}

function rowOfReport(row, id) {
	const group = report.groups[row.groups[0]];

	return {
		...row, id, row: id, group, where: visible(row.name), label: group.label ?? null,
		stack: group.stack, wrappers: group.wrappers, end: group.stack_end,
		series: row.series ?? group.series, oldest: row.oldest_s, estimate: estimateOf(group),
	};
}

const markOf = (number) => number === null ? "" : `[${number}]`;

function rowOfChange(change, id) {
	return {
		id, row: id, group: change, mark: markOf(change.number), family: change.family, verdict: change.verdict,
		before: change.old_bytes, now: change.new_bytes,
		stack: change.stack, wrappers: change.wrappers,
		end: change.stack_end, where: visible(change.name), label: null, series: [], oldest: 0,
		change: change.by_rate ? change.new_bytes_per_minute - change.old_bytes_per_minute
			: change.new_bytes - change.old_bytes,
	};
}

function rowOfRefs(row, id) {
	const use = row.acquired[0] ?? row.released[0] ?? { stack: [], wrappers: 0, stack_end: "whole" };
	const groups = row.refs.map((index) => report.refs[index]);

	return {
		...row, id, group: { ...groups[0], ...row }, groups, verdict: "unknown", where: visible(row.name),
		stack: use.stack, wrappers: use.wrappers, end: use.stack_end, label: null, oldest: row.oldest_s,
		surplus: groups.reduce((sum, g) => sum + Math.max(0, g.net * g.objects), 0),
	};
}

function rowOfRefChange(change, id) {
	return {
		id, group: change, mark: markOf(change.number), family: change.family, verdict: "unknown",
		stack: change.stack, wrappers: change.wrappers, end: change.stack_end,
		where: visible(change.name), label: null, series: [], oldest: 0,
		before: change.old_objects, now: change.new_objects,
		change: change.new_objects - change.old_objects,
	};
}

const rows = isDiff ? report.changes.map(rowOfChange) : report.rows.map(rowOfReport);
const parts = isDiff ? rows : report.groups.map(partOfGroup);
const refRows = isDiff ? report.ref_changes.map(rowOfRefChange) : report.ref_rows.map(rowOfRefs);
// What is lost with other rows is counted in those.
const counted = rows.filter((row) => row.section !== "indirect");
const hasVerdicts = isSampled || rows.some((row) => row.verdict !== "unknown");
const families = new Set([...rows, ...refRows].map((row) => row.family));
// Families of what has no size, as descriptors.
const sizeless = (report.families ?? []).filter((family) => family.plain && !family.references);
const sized = (report.families ?? []).filter((family) => !family.plain);
const allPlain = sizeless.length > 0 && !sized.length;
const isPlain = (row) => sizeless.some((its) => its.family === row.family);
// Bytes, or how many.
const amount = (row, value) => isPlain(row) ? count(value) : size(value);

function where(row) {
	return row.where;
}

function numberText(row) {
	return visible(row.mark);
}

// The verdict, or of a sampled run the name of the colour that stands for what becomes of the blocks.
function colorClass(row) {
	return isSampled ? TURNOVER_COLORS[row.group.turnover] ?? "unknown" : row.verdict;
}

// --- what rows are measured by ---

const asSize = (value) => size(value), asRate = (value) => rate(value), asCount = (value) => count(value);

const rateOf = (name) => (row) => row.estimate?.[name][0] ?? 0;
const isExact = !isDiff && !isSampled, isWatch = isExact && !isScan;
const liveText = isSampled ? "tracked live bytes" : isScan ? "bytes in use" : "live bytes";

const METRICS = [
	{ id: "live", text: liveText, rows: parts, show: asSize, value: (row) => row.bytes, of: isExact },
	{ id: "kept", text: "leaks, bytes a minute", rows: parts, show: asRate,
		value: rateOf("leaked_bytes_per_minute"), of: isSampled },
	{ id: "may", text: "leaks or may leak, bytes a minute", rows: parts, show: asRate,
		value: rateOf("may_leak_bytes_per_minute"), of: isSampled },
	{ id: "blocks", text: isScan ? "blocks in use" : "live blocks", rows: parts, show: asCount,
		value: (row) => row.blocks, of: isExact },
	{ id: "allocated", text: "bytes allocated", rows: parts, show: asSize,
		value: (row) => row.allocated, of: isWatch },
	{ id: "calls", text: "allocations", rows: parts, show: asCount, value: (row) => row.allocs, of: isWatch },
	{ id: "calls", text: "allocations a minute", rows: parts, show: asCount, value: rateOf("allocs_per_minute"),
		of: isSampled },
	{ id: "growth", text: "growth", rows: counted, value: growthOf, of: isWatch,
		show: (value) => span.whole ? rate(value) : size(value) },
	{ id: "now", text: "bytes now", rows, show: asSize, value: (row) => row.now, of: isDiff },
	{ id: "before", text: "bytes before", rows, show: asSize, value: (row) => row.before, of: isDiff },
	{ id: "more", text: "what grew", rows, show: asSize,
		value: (row) => Math.max(0, row.now - row.before), of: isDiff },
	{ id: "less", text: "what shrank", rows, show: asSize,
		value: (row) => Math.max(0, row.before - row.now), of: isDiff },
	{ id: "surplus", text: "references not released", rows: refRows, show: asCount,
		value: (row) => row.surplus, of: !isDiff },
	{ id: "objects", text: "objects now", rows: refRows, show: asCount,
		value: (row) => row.now, of: isDiff },
].filter((m) => m.of && m.rows.some((row) => m.value(row) > 0 || m.id === "growth"));

function growthOf(row) {
	if (!span.whole)
		return Math.max(0, inSpan(row));
	return rises(row.growth) ? Math.max(0, row.growth.bytes_per_minute) : 0;
}
