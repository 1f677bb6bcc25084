// SPDX-License-Identifier: MIT
// text: numbers and names as the text report prints them. Names come from the target: what would be invisible,
// or would change the order of other characters, is shown as \xNN, by its bytes.

const HIDDEN = /[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const encoder = new TextEncoder();

function bytesOf(c) {
	return Array.from(encoder.encode(c), (b) => "\\x" + b.toString(16).padStart(2, "0")).join("");
}

function visible(text) {
	return String(text ?? "").replace(HIDDEN, bytesOf);
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

function size(bytes) {
	let unit = 0, value = Math.abs(bytes);

	while (value >= (unit ? 1024 : 10000) && unit < UNITS.length - 1) {
		value /= 1024;
		unit++;
	}
	const shown = unit && value < 99.95 ? value.toFixed(1) : value.toFixed(0);
	return (bytes < 0 ? "-" : "") + shown + " " + UNITS[unit];
}

function rate(bytesPerMinute) {
	return size(bytesPerMinute) + "/min";
}

function count(n) {
	return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function things(n, noun) {
	return count(n) + " " + noun + (n === 1 ? "" : "s");
}

function percent(part, whole) {
	const value = whole > 0 ? 100 * part / whole : 0;

	if (value > 0 && value < 0.1)
		return "<0.1%";
	return (value < 9.95 && value > 0 ? value.toFixed(1) : value.toFixed(0)) + "%";
}

const DURATIONS = [["d", 86400e9], ["h", 3600e9], ["m", 60e9], ["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
const SECONDS = 3;			// index of "s"

// As base/duration.c: from a minute on two units, below one and a digit behind the point; never rounded up.
function seconds(s) {
	const ns = Math.round(s * 1e9);
	const unit = DURATIONS.findIndex(([, large]) => ns >= large);

	if (unit < 0)
		return "0s";
	const [name, large] = DURATIONS[unit], whole = Math.floor(ns / large) + "";
	if (unit >= SECONDS) {
		const tenth = Math.floor(ns % large * 10 / large);
		return whole + (tenth ? "." + tenth : "") + name;
	}
	const [its, small] = DURATIONS[unit + 1], rest = Math.floor(ns % large / small);
	return whole + name + (rest ? rest + its : "");
}

function base(path) {
	return path.slice(path.lastIndexOf("/") + 1);
}

// "shop::Pool<Req>::make(int)" as "shop::Pool::make": without arguments and template arguments. What is not
// balanced, as names of operators, stays as it is.
function shortName(name) {
	const bare = name.replaceAll("(anonymous namespace)::", "");
	let out = "", depth = 0;

	if (!/[<(]/.test(bare) || bare.includes("operator"))
		return bare;
	for (const c of bare) {
		if (c === "(" && depth === 0)
			break;
		if (c === "<" || c === "(")
			depth++;
		else if (c === ">" || c === ")")
			depth--;
		else if (depth === 0)
			out += c;
		if (depth < 0)
			return bare;
	}
	return depth || !out ? bare : out.slice(out.lastIndexOf(" ") + 1) || bare;
}

const VERDICTS = ["definite", "indirect", "possible", "reachable", "unknown"];
const VERDICT_TEXT = {
	definite: "definitely lost", indirect: "indirectly lost", possible: "possibly lost",
	reachable: "still reachable", unknown: "no verdict",
};
// What the graph's colours say of a row: its verdict; of a sampled run, what becomes of its blocks.
const TURNOVER_COLORS = { stays: "definite", unknown: "possible", table: "reachable", goes: "unknown" };
const SHAPE_TEXT = {
	grows: "grows", slows: "grows more slowly", level: "levelled off", once: "all came at once",
	falls: "rose and fell", unknown: "too short to say",
};
const TURNOVER_TEXT = { stays: "leaks", goes: "freed", table: "bounded", unknown: "may leak" };
const END_TEXT = {
	cut: "the stack goes on: more of it was not copied (--stack-bytes)",
	lost: "the stack goes on: the caller is not known",
	deep: "the stack goes on (--depth)",
	elsewhere: "the stack goes on in other memory, which was not copied (--unwinder dwfl sees it)",
};
