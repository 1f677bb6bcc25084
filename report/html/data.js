// SPDX-License-Identifier: MIT
// data: the report, as rows that the graph and the table show. A row is a group: of a watch, a scan, or a
// difference; rows of references are apart.
//
//	row	{id, number, family, verdict, stack, wrappers, end, where, value, ...}
//	name	of a frame: function and module, which many frames share; a number

const report = JSON.parse(document.getElementById("report").textContent);
const isDiff = "changes" in report;
const isScan = "scan" in report;
const run = report.run ?? {};
const isSampled = run.mode === "sampled";
const span = { from: 0, to: run.seconds ?? 0, whole: true };	// what the plot of growth has selected

// --- frames ---

// Numbers, in one list: a frame begins at FRAME times its number.
const [ADDRESS, MODULE, FUNCTION, FILE, LINE, INLINED, FRAME] = Array(7).keys();
const { frames } = report;
// By name: a frame that has it, and what is made of that when it is first needed: few are ever shown.
const nameFrames = [], nameTexts = [], nameModules = [], nameShorts = [];
const madeNames = new Map();		// of what is no frame with a function: its key -> name

// Each is three elements: how much of the string before begins it, and ends it, and what is between.
const STRING = 3, strings = new Array(report.strings.length / STRING);

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
	return nameShorts[n] ??= shortName(nameText(n));
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

// "session_open svc.c:42"
function whereOf(stack, wrappers) {
	const number = stack[wrappers] ?? stack[stack.length - 1];

	if (number === undefined)
		return "";
	const source = sourceOf(number);
	return nameShort(nameOfFrame[number]) + (source ? " " + base(source) : "");
}

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

// A group of several verdicts has the calls of its stack in each: they count once.
function countCallsOnce(rows) {
	const seen = new Set();

	for (const row of rows) {
		if (!row.group.split)
			continue;
		const key = row.family + "\0" + (row.group.tag ?? "") + "\0" + row.stack.join();
		if (seen.has(key))
			row.allocs = row.allocated = 0;
		seen.add(key);
	}
}

function rowOfGroup(group, id) {
	const label = group.label ?? null;

	return {
		id, group, number: group.number, family: group.family, verdict: group.verdict,
		bytes: group.bytes, blocks: group.blocks,
		allocs: group.allocs, allocated: group.bytes_allocated,
		stack: group.stack, wrappers: group.wrappers,
		end: group.stack_end, series: group.series, growth: group.growth, oldest: group.oldest_s,
		estimate: group.estimate ?? null,
		where: label === null ? null : visible(label),
		label,
	};
}

function rowOfChange(change, id) {
	return {
		id, group: change, number: id + 1, family: change.family, verdict: change.verdict,
		before: change.old_bytes, now: change.new_bytes,
		stack: change.stack, wrappers: change.wrappers,
		end: change.stack_end, where: null, label: null, series: [], oldest: 0,
		change: change.by_rate ? change.new_bytes_per_minute - change.old_bytes_per_minute
			: change.new_bytes - change.old_bytes,
	};
}

function rowOfRefs(refs, id) {
	const use = refs.taken[0] ?? refs.dropped[0] ?? { stack: [], wrappers: 0, stack_end: "whole" };

	return {
		id, group: refs, number: refs.number, family: refs.family, verdict: "unknown",
		stack: use.stack, wrappers: use.wrappers, end: use.stack_end, where: null, label: null,
		series: refs.series,
		growth: refs.growth, oldest: refs.oldest_s, surplus: Math.max(0, refs.net * refs.objects),
	};
}

function rowOfRefChange(change, id) {
	return {
		id, group: change, number: id + 1, family: change.family, verdict: "unknown",
		stack: change.stack, wrappers: change.wrappers, end: change.stack_end,
		where: null, label: null, series: [], oldest: 0,
		before: change.old_objects, now: change.new_objects,
		change: change.new_objects - change.old_objects,
	};
}

const rows = isDiff ? report.changes.map(rowOfChange) : report.groups.map(rowOfGroup);
const refRows = isDiff ? report.ref_changes.map(rowOfRefChange) : report.refs.map(rowOfRefs);
if (!isDiff)
	countCallsOnce(rows);
const hasVerdicts = isSampled || rows.some((row) => row.verdict !== "unknown");
const families = new Set([...rows, ...refRows].map((row) => row.family));
// Families of what has no size, as descriptors: each counts as a byte.
const plainFamilies = new Set([...families].filter((name) => name !== "libc" &&
	rows.some((row) => row.family === name) && rows.every((row) => row.family !== name || row.bytes === row.blocks)));
const allPlain = rows.length > 0 && families.size === plainFamilies.size;
// Bytes, or how many.
const amount = (row, value) => plainFamilies.has(row.family) ? count(value) : size(value);

function where(row) {
	return row.where ??= whereOf(row.stack, row.wrappers) || "(no stack)";
}

function callerText(frame) {
	const source = sourceOf(frame);

	return shortName(nameText(nameOfFrame[frame])) + (source ? " " + base(source) : "");
}

// Of rows with equal text, the first caller from which on not all their stacks are the same.
function tellApart(alike) {
	const deepest = alike.reduce((most, row) => Math.max(most, row.stack.length - row.wrappers), 0);

	for (let i = 1; i < deepest; i++) {
		const callers = alike.map((row) => row.stack[row.wrappers + i]);
		if (callers.every((frame) => frame === callers[0]))
			continue;
		alike.forEach((row, n) => {
			row.from = callers[n];
		});
		return;
	}
}

// Rows that would look the same get a caller that distinguishes them. By numbers: no name is needed yet.
function findCallers() {
	const byPlace = new Map();

	for (const row of rows) {
		const frame = row.stack[row.wrappers] ?? row.stack[row.stack.length - 1];
		if (row.label !== null || frame === undefined)
			continue;
		const key = `${row.family} ${nameOfFrame[frame]} ${frameNumber(frame, FILE)} ${frameNumber(frame, LINE)}`;
		if (byPlace.has(key))
			byPlace.get(key).push(row);
		else
			byPlace.set(key, [row]);
	}
	for (const alike of byPlace.values())
		if (alike.length > 1)
			tellApart(alike);
}

findCallers();

function numberText(row) {
	return families.size > 1 ? `[${visible(row.family)} ${row.number}]` : `[${row.number}]`;
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
	{ id: "live", text: liveText, rows, show: asSize, value: (row) => row.bytes, of: isExact },
	{ id: "kept", text: "leaks, bytes a minute", rows, show: asRate,
		value: rateOf("kept_bytes_per_minute"), of: isSampled },
	{ id: "may", text: "leaks or may leak, bytes a minute", rows, show: asRate,
		value: rateOf("may_keep_bytes_per_minute"), of: isSampled },
	{ id: "blocks", text: isScan ? "blocks in use" : "live blocks", rows, show: asCount,
		value: (row) => row.blocks, of: isExact },
	{ id: "allocated", text: "bytes allocated", rows, show: asSize,
		value: (row) => row.allocated, of: isWatch },
	{ id: "calls", text: "allocations", rows, show: asCount, value: (row) => row.allocs, of: isWatch },
	{ id: "calls", text: "allocations a minute", rows, show: asCount, value: rateOf("allocs_per_minute"),
		of: isSampled },
	{ id: "growth", text: "growth", rows, value: growthOf, of: isWatch,
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
