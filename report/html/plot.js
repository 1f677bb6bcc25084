// SPDX-License-Identifier: MIT
// plot: growth over time, of all and of one group, with the process's own memory; and the span of time whose
// growth the table shows. It is chosen by drawing over the plot, or with two sliders, for which keys suffice.

const PLOT = { height: 118, top: 22, bottom: 8, left: 74, right: 14, times: 20 };
const SLIDER_STEPS = 1000;
const CLICK = 0.01;			// of the time: less is a click, which selects all again
const TIMES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1200, 3600,
	7200, 14400, 28800, 86400, 172800, 604800, 1209600, 2419200];

// Adds series up. Between two of its points a series is as at the first.
function sumSeries(list) {
	const added = new Map();
	let sum = 0;

	for (const series of list) {
		let before = 0;
		for (const [time, value] of series) {
			added.set(time, (added.get(time) ?? 0) + value - before);
			before = value;
		}
	}
	return [...added].sort((a, b) => a[0] - b[0]).map(([time, change]) => [time, sum += change]);
}

// 1, 2, 5, 10, 20 ... of a unit, at least @least.
function stepOf(least, base) {
	let unit = 1;

	while (unit * base <= least)
		unit *= base;
	return unit * ([1, 2, 5, 10, 20, 50, 100, 200, 500].find((n) => unit * n >= least) ?? base);
}

function signed(value, show) {
	return (value > 0 ? "+" : "") + show(value);
}

// --- drawing ---

//	panel	{title, series, kind, base, show}
class Plot {
	constructor(seconds, panels, brushes) {
		Object.assign(this, { seconds, panels, brushes });
		this.svg = draw("svg", { class: "plot", role: "img", id: "growth-plot" });
		this.redraw = perFrame(() => this.draw());
	}

	x(time) {
		return PLOT.left + (this.width - PLOT.left - PLOT.right) * time / this.seconds;
	}

	timeAt(x) {
		const time = this.seconds * (x - PLOT.left) / (this.width - PLOT.left - PLOT.right);

		return Math.min(this.seconds, Math.max(0, time));
	}

	draw() {
		const shown = this.panels();

		this.width = Math.max(240, this.svg.parentElement?.clientWidth || 800);
		this.height = shown.length * PLOT.height + PLOT.times;
		this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
		this.svg.setAttribute("aria-label", shown.map((panel) =>
			`${panel.title}: at the end ${panel.show(panel.series.at(-1)[1])}`).join("; "));
		this.svg.replaceChildren(...this.gaps(), ...shown.flatMap((panel, i) => this.panel(panel, i)),
			...this.times(), ...this.brush());
	}

	panel({ title, series, kind, base, show }, index) {
		const top = index * PLOT.height + PLOT.top, bottom = (index + 1) * PLOT.height - PLOT.bottom;
		const most = series.reduce((max, [, value]) => Math.max(max, value), 1);
		const step = stepOf(most / 3, base);
		const y = (value) => bottom - (bottom - top) * value / most;
		const line = series.map(([time, value]) => `${this.x(time).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
		const drawn = [draw("text", { x: PLOT.left, y: top - 8, class: "title" }, title)];

		for (let value = 0; value <= most; value += step)
			drawn.push(draw("line", { class: "axis", x1: PLOT.left, x2: this.width - PLOT.right,
				y1: y(value), y2: y(value) }),
			draw("text", { x: PLOT.left - 6, y: y(value) + 4, "text-anchor": "end" }, show(value)));
		return [...drawn, draw("polygon", { class: "area " + kind,
			points: `${this.x(series[0][0])},${bottom} ${line} ${this.x(series.at(-1)[0])},${bottom}` }),
			draw("polyline", { class: "curve " + kind, points: line })];
	}

	times() {
		const least = this.seconds * 70 / (this.width - PLOT.left - PLOT.right);
		const step = TIMES.find((time) => time >= least) ?? TIMES.at(-1);
		const drawn = [];

		for (let i = 0; i * step <= this.seconds; i++)
			drawn.push(draw("text", { x: this.x(i * step), y: this.height - 6, "text-anchor": "middle" },
				i ? seconds(i * step) : "0"));
		return drawn;
	}

	gaps() {
		return (run.gaps ?? []).map((gap) => draw("rect", { class: "gap", y: 0, height: this.height - PLOT.times,
			x: this.x(gap.at_s), width: Math.max(1, this.x(gap.at_s + gap.seconds) - this.x(gap.at_s)) },
		draw("title", {}, "not watched: " + visible(gap.why))));
	}

	brush() {
		if (span.whole)
			return [];
		return [draw("rect", { class: "brush", x: this.x(span.from), y: 0, height: this.height - PLOT.times,
			width: Math.max(1, this.x(span.to) - this.x(span.from)) })];
	}

	// --- the pointer ---

	listen(select, tell) {
		let start = null;
		const at = (event) => this.timeAt(event.clientX - this.svg.getBoundingClientRect().left);
		const drawn = (event) => select(Math.min(start, at(event)), Math.max(start, at(event)));

		this.svg.addEventListener("pointermove", (event) => {
			if (start === null)
				tell(at(event));
			else
				drawn(event);
		});
		this.svg.addEventListener("pointerleave", () => start === null && tell(null));
		if (!this.brushes)
			return;
		this.svg.addEventListener("pointerdown", (event) => {
			if (event.button)
				return;
			start = at(event);
			this.svg.setPointerCapture(event.pointerId);
			event.preventDefault();
		});
		this.svg.addEventListener("pointerup", (event) => {
			if (start !== null && Math.abs(at(event) - start) < CLICK * this.seconds)
				select(0, this.seconds);
			start = null;
		});
		this.svg.addEventListener("pointercancel", () => {
			start = null;
		});
	}
}

// --- the span ---

// Sorted by what grew in it, unless the reader has sorted the table since.
function sortBySpan(table) {
	const column = table.columns.find((its) => its.id === "inspan");

	if (!span.whole && !table.bySpan)
		table.sorted = { column, descending: true };
	else if (span.whole && table.sorted?.column === column)
		table.sorted = null;
	table.bySpan = !span.whole;
	table.sort();
}

function slider(end, seconds_, select) {
	const label = end === "from" ? "from" : "to";
	const input = make("input", { type: "range", id: "span-" + end, min: 0, max: SLIDER_STEPS, step: 1,
		"aria-label": label });

	input.addEventListener("input", () => select(seconds_ * input.value / SLIDER_STEPS));
	return input;
}

function spanControls(plot, select) {
	const end = plot.seconds;
	const from = slider("from", end, (time) => select(time, Math.max(time, span.to)));
	const to = slider("to", end, (time) => select(Math.min(time, span.from), time));
	const fromText = make("output"), toText = make("output");
	const show = () => {
		from.value = SLIDER_STEPS * span.from / end;
		to.value = SLIDER_STEPS * span.to / end;
		fromText.textContent = span.from ? seconds(span.from) : "0s";
		toText.textContent = seconds(span.to);
		from.setAttribute("aria-valuetext", fromText.textContent);
		to.setAttribute("aria-valuetext", toText.textContent);
	};

	show();
	return [show, make("div.ranges", { role: "group", "aria-label": "span" },
		make("span", {}, "from"), from, fromText, make("span", {}, "to"), to, toText)];
}

// --- what is plotted ---

// Groups of objects with the same first call site have one series, which is the call site's.
function seriesOfAll(list) {
	const sites = new Map((list === refRows ? refRows : parts).filter((row) => allPlain || !isPlain(row))
		.map((row) => [list === refRows ? row.family + " " + row.stack.join() : row, row.series]));

	return sumSeries(sites.values());
}

function chosenRow(list, table) {
	const opened = table ? [...table.opened].filter((row) => row.series.length > 1).at(-1) : null;
	const speed = (row) => row.growth.bytes_per_minute ?? row.growth.references_per_minute;
	const fastest = list.filter((row) => rises(row.growth) && row.series.length > 1)
		.reduce((best, row) => !best || speed(row) > speed(best) ? row : best, null);

	return opened ?? fastest ?? list.find((row) => row.series.length > 1) ?? null;
}

function panelsOf(list, table, hasCurves) {
	const isRefs = list === refRows;
	const unit = isRefs || allPlain ? { base: 1000, show: asCount } : { base: 1024, show: asSize };
	const all = hasCurves ? seriesOfAll(list) : null;
	const memory = report.memory?.series ?? [];

	return () => {
		const row = hasCurves ? chosenRow(list, table) : null;
		const panels = [];

		if (hasCurves)
			panels.push({ title: isRefs ? "references on live objects, all groups" : "live, all groups",
				series: all, kind: "all", ...unit });
		if (row && list.length > 1)
			panels.push({ title: `${numberText(row)} ${where(row)}`, series: row.series, kind: "chosen",
				...isPlain(row) ? { base: 1000, show: asCount } : unit });
		if (memory.length > 1)
			panels.push({ title: "memory of the process", series: memory, kind: "process", base: 1024, show: asSize });
		return panels;
	};
}

function sayAt(panels, time) {
	return time === null ? "" : `${seconds(time)}: ` + panels.map(({ title, series, show }) =>
		`${title} ${show(bytesAt(series, time))}`).join("; ");
}

function saySpan(list, all, show) {
	const grew = list.filter((row) => inSpan(row) > 0).length;
	const change = bytesAt(all, span.to) - bytesAt(all, span.from);

	return `${span.from ? seconds(span.from) : "0s"} to ${seconds(span.to)}: ${signed(change, show)}; ${things(grew, "group")} ` +
		`${grew === 1 ? "has" : "have"} more at its end` +
		(span.whole ? "" : ", shown in the table");
}

// @table: whose rows are plotted, and whose column "in the span" shows what grew in it; null: there is none.
function putPlot(list, table) {
	const hasCurves = (isWatch || list === refRows && !isDiff) && list.some((row) => row.series.length > 1);
	const panels = panelsOf(list, table, hasCurves);

	if (isScan || isDiff || !(run.seconds > 0) || !panels().length)
		return;
	const plot = new Plot(run.seconds, panels, hasCurves);
	const all = hasCurves ? panels()[0] : null;
	const told = make("output.count", { id: "growth-span", "aria-live": "polite" });
	const at = make("output.status", { id: "growth-at" });
	let show = () => {}, controls = null, whole = null;
	const update = perFrame(() => {
		show();
		told.textContent = saySpan(list, all.series, all.show);
		whole.hidden = span.whole;
		plot.draw();
		sortBySpan(table);
		if (flame.it?.metric.id === "growth")
			flame.it.use();
	});
	const select = (from, to) => {
		Object.assign(span, { from, to, whole: from <= 0 && to >= run.seconds });
		update();
	};

	if (hasCurves) {
		whole = button("all of it", { id: "span-whole", hidden: true }, () => select(0, run.seconds));
		[show, controls] = spanControls(plot, select);
		told.textContent = saySpan(list, all.series, all.show);
		table.element.addEventListener("click", plot.redraw);
	}
	section("growth", "Growth over time", hasCurves ? make("div.controls", {}, told, whole) : null,
		make("div", {}, plot.svg), at, controls, hasCurves ? make("p.help", {},
			"Draw over the plot, or move the two ends: the table and the graph of growth are then about " +
			"that span. The curve of one group is that of the row that was opened last.") : null);
	plot.listen(select, (time) => {
		at.textContent = sayAt(panels(), time);
	});
	plot.draw();
	new ResizeObserver(plot.redraw).observe(plot.svg.parentElement);
}
