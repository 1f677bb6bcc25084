// SPDX-License-Identifier: MIT
// histogram: the live blocks by size and by age, as bars. A bar is of those from one power of two to the next;
// of ages some are put together, as a block of two days and one of four are both old.

// Limits of the report's own ranges, which are powers of two of a microsecond: about 1 ms, 16 ms ... 6 days.
const AGES = [0, ...[10, 14, 17, 20, 23, 26, 29, 32, 34, 37, 39, 42].map((power) => 2 ** power / 1e6)];
const MANY_BARS = 14;

// From powers of two, or of so many fewer bins that they can be read: {step, bins}.
function sizeBins() {
	let bins = report.block_sizes, step = 2;

	while (bins.length > MANY_BARS) {
		const sums = new Map();
		step *= step;
		for (const [from, blocks, bytes] of report.block_sizes) {
			const begin = from ? step ** Math.floor(Math.log2(from) / Math.log2(step)) : 0;
			const [, b, n] = sums.get(begin) ?? [begin, 0, 0];
			sums.set(begin, [begin, b + blocks, n + bytes]);
		}
		bins = [...sums.values()];
	}
	return { step, bins };
}

function ageBins(bins) {
	const sums = AGES.map((from) => [from, 0, 0]);

	for (const [from, blocks, bytes] of bins) {
		const sum = sums.findLast(([begin]) => begin <= from);
		sum[1] += blocks;
		sum[2] += bytes;
	}
	return sums.filter((sum) => sum[1]);
}

// "64 B to 128 B"; the last bin has no end.
function rangeText(from, next, show) {
	if (next === undefined)
		return `${show(from)} and more`;
	return from ? `${show(from)} to ${show(next)}` : `less than ${show(next)}`;
}

function histogramBars(bins, nextOf, show) {
	return bins.map(([from, blocks, bytes]) => ({ label: rangeText(from, nextOf(from), show), value: bytes,
		text: `${size(bytes)} in ${things(blocks, "block")}` }));
}

function sizeBars() {
	const { step, bins } = sizeBins();

	return histogramBars(bins, (from) => from ? from * step : 1, size);
}

function ageBars() {
	return histogramBars(ageBins(report.block_ages), (from) => AGES[AGES.indexOf(from) + 1], seconds);
}

function histogramPart(id, title, bars) {
	return bars.length ? make("div", { id }, make("h3", {}, title), barList(bars)) : null;
}

function putHistograms() {
	if (isDiff || isSampled || !report.block_sizes.length)
		return;
	section("histograms", "Sizes and ages", make("div.pair", {},
		histogramPart("sizes", "Live blocks by size", sizeBars()),
		histogramPart("ages", "by age", ageBars())));
}
