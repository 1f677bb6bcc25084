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

// As printf rounds: what is halfway goes to the even digit.
function fixed(value, digits) {
	const half = digits ? value % 1 === 0.25 : value % 2 === 0.5;

	return (half ? value - 0.01 : value).toFixed(digits);
}

function size(bytes) {
	let unit = 0, value = Math.abs(bytes);

	while (value >= (unit ? 1024 : 10000) && unit < UNITS.length - 1) {
		value /= 1024;
		unit++;
	}
	const shown = unit && value < 99.95 ? fixed(value, 1) : fixed(value, 0);
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
	return (value < 9.95 && value > 0 ? fixed(value, 1) : fixed(value, 0)) + "%";
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

// What the graph's colours say of a part of a sampled run: what becomes of its blocks, by colours of verdicts.
const TURNOVER_COLORS = { stays: "definite", unknown: "possible", table: "reachable", goes: "unknown" };
