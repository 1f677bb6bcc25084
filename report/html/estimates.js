// SPDX-License-Identifier: MIT
// estimates: of a sampled run: each number is a value and the two ends of its interval. A bar with whiskers,
// on one scale for all rows, so that bars can be compared.

// The largest end that is known; the scale goes a little beyond the largest value if an end is far out.
function scaleOfEstimates() {
	let values = 0, ends = 0;

	for (const row of rows) {
		const [value, , high] = row.estimate?.leaked_bytes_per_minute ?? [0, 0, 0];

		values = Math.max(values, value ?? 0);
		ends = Math.max(ends, high ?? 0);
	}
	return Math.min(ends, 2 * values) || ends || 1;
}

let estimateScale = null;

function intervalText([value, low, high], show) {
	if (value === null)
		return high === null ? "not known" : `at most ${show(high)}`;
	if (!value && !high)
		return show(0);
	return `${show(value)} (${show(low ?? 0)} to ${high === null ? "?" : show(high)})`;
}

function whiskers([value, low, high]) {
	const width = 120, height = 16, middle = height / 2;
	const x = (v) => Math.min(width - 1, width * v / estimateScale).toFixed(1);
	const from = x(low ?? 0), to = high === null ? width : x(high);

	return draw("svg", { class: "whiskers", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
		draw("rect", { class: value === null ? "open" : "bar", x: 0, y: 3, width: value === null ? to : x(value), height: height - 6 }),
		draw("line", { x1: from, x2: to, y1: middle, y2: middle }),
		draw("line", { x1: from, x2: from, y1: 4, y2: height - 4 }),
		high === null || high > estimateScale ? "" : draw("line", { x1: to, x2: to, y1: 4, y2: height - 4 }));
}

function intervalCell(row) {
	const kept = row.estimate?.leaked_bytes_per_minute;

	if (!kept)
		return "";
	estimateScale ??= scaleOfEstimates();
	if (!["stays", "unknown", "table"].includes(row.group.turnover))
		return make("span.quiet", {}, row.leaks);
	return make("span.interval", {}, whiskers(kept), " ", make("span", {}, row.leaks));
}

function estimateFacts(g) {
	const e = g.estimate, share = ([value, low, high]) => `${percent(value ?? 0, 1)} (${percent(low ?? 0, 1)} to ${percent(high ?? 1, 1)})`;

	return [...fact("leaks a minute", intervalText(e.leaked_bytes_per_minute, size)),
		...fact("blocks a minute", intervalText(e.leaked_blocks_per_minute, count)),
		...fact("allocations a minute", intervalText(g.allocs_per_minute, count) + (e.at_least ? ", or more: calls come in bunches" : "")),
		...fact("seen", g.seen ? `${count(g.seen)}, ${percent(e.share_seen, 1)} of all` : ""),
		...fact("still live", e.followed_to_share_age ? `${share(e.share_live)} after ${seconds(e.share_age_s)}, of ${things(e.followed_to_share_age, "tracked block")}` : ""),
		...fact("lost at the end", e.searched ? `${count(e.lost)} of ${things(e.searched, "tracked block")}` : ""),
		...fact("lost, of those that the kernel's probes saw", e.probed ? `${count(e.probed_lost)} of ${things(e.probed, "block")}` : ""),
		...fact("not known because of", g.why_unknown && visible(g.why_unknown)),
		...fact("half are freed after", e.half_s === null ? "" : seconds(e.half_s))];
}
