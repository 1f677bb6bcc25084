// SPDX-License-Identifier: MIT
// table: tables that can be sorted, whose rows open, and that are filled as far as they are looked at; and
// the table of groups.
//
//	column	{id, text, cell(row) -> text or element, by(row) -> number or text, ascending, wide}

const FILL = 50;

class Table {
	constructor(id, label, columns, open) {
		Object.assign(this, { id, columns, open });
		this.all = this.shown = [];
		this.filled = 0;
		this.opened = new Set();
		this.sorted = null;
		this.head = make("tr", { role: "row" });
		this.body = make("tbody", { role: "rowgroup" });
		this.more = button("", { class: "more", hidden: true }, () => this.fill(FILL * 4));
		this.element = make("div.tablebox", {},
			make("table.rows", { id, role: "table", "aria-label": label },
				make("thead", { role: "rowgroup" }, this.head), this.body),
			this.more);
		this.body.addEventListener("click", (event) => this.clicked(event));
		this.body.addEventListener("keydown", (event) => this.key(event));
		if ("IntersectionObserver" in window)
			new IntersectionObserver((seen) => seen.some((e) => e.isIntersecting) && this.fill(FILL),
				{ rootMargin: "300px" })
				.observe(this.more);
	}

	// The rows in their first order.
	set(list) {
		this.all = list;
		this.sort();
	}

	sort() {
		const { sorted } = this;

		this.shown = [...this.all];
		if (sorted) {
			const { by } = sorted.column, sign = sorted.descending ? -1 : 1;
			const keys = new Map(this.all.map((row) => [row, by(row)]));
			this.shown.sort((a, b) => {
				const x = keys.get(a), y = keys.get(b);
				return sign * (x < y ? -1 : x > y ? 1 : 0) || a.id - b.id;
			});
		}
		this.putHead();
		this.restart();
	}

	sortBy(column) {
		const again = this.sorted?.column === column;

		this.sorted = { column, descending: again ? !this.sorted.descending : !column.ascending };
		this.sort();
	}

	heading(column) {
		const mine = this.sorted?.column === column;
		const order = !mine ? "none" : this.sorted.descending ? "descending" : "ascending";
		const arrow = !mine ? "" : this.sorted.descending ? " ▼" : " ▲";

		return make("th.c-" + column.id,
			{ role: "columnheader", scope: "col", "aria-sort": order, "data-text": column.text },
			button(column.text + arrow, {}, () => {
				this.sortBy(column);
				this.head.querySelector("th.c-" + column.id + " button").focus();
			}));
	}

	putHead() {
		const seen = this.columns.filter((column) => !column.hidden?.());

		this.head.replaceChildren(...seen.map((column) => this.heading(column)));
	}

	restart() {
		this.filled = 0;
		this.body.replaceChildren();
		this.fill(FILL);
	}

	fill(n) {
		const until = Math.min(this.shown.length, this.filled + n);
		const added = [];

		for (; this.filled < until; this.filled++) {
			added.push(this.line(this.shown[this.filled]));
			if (this.opened.has(this.shown[this.filled]))
				added.push(this.below(this.shown[this.filled]));
		}
		this.body.append(...added);
		this.more.hidden = until >= this.shown.length;
		this.more.textContent = `${count(this.shown.length - until)} more`;
	}

	line(row) {
		const open = this.opened.has(row);
		const line = make("tr.row" + (open ? ".open" : ""), { role: "row" });

		line.row = row;
		for (const column of this.columns) {
			if (column.hidden?.())
				continue;
			const inside = column.cell(row);
			const first = this.open && !line.children.length;
			line.append(make("td.c-" + column.id, { role: "cell", "data-text": column.text }, first
				? make("button.opener", { type: "button", "aria-expanded": String(open) }, inside) : inside));
		}
		return line;
	}

	below(row) {
		return make("tr.below", { role: "row" },
			make("td", { role: "cell", colspan: this.columns.length }, this.open(row)));
	}

	toggle(line) {
		const { row } = line, open = !this.opened.has(row);

		line.classList.toggle("open", open);
		line.querySelector(".opener").setAttribute("aria-expanded", open);
		if (open) {
			this.opened.add(row);
			line.after(this.below(row));
		} else {
			this.opened.delete(row);
			line.nextElementSibling.remove();
		}
	}

	// Anywhere in a row, but not when text was selected, to be copied.
	clicked(event) {
		const line = event.target.closest("tr.row");

		if (line && this.open && !String(getSelection()))
			this.toggle(line);
	}

	key(event) {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		const line = event.target.classList.contains("opener") && event.target.closest("tr");
		let beside = line;

		if (!line || !step)
			return;
		event.preventDefault();
		if (step > 0 && !this.more.hidden && !line.nextElementSibling?.nextElementSibling?.nextElementSibling)
			this.fill(FILL);
		do
			beside = step > 0 ? beside.nextElementSibling : beside.previousElementSibling;
		while (beside && !beside.row);
		beside?.querySelector(".opener").focus();
	}

	openAll(n) {
		for (const line of [...this.body.querySelectorAll("tr.row")].slice(0, n))
			if (!this.opened.has(line.row))
				this.toggle(line);
	}
}

// --- cells ---

function spark(series) {
	const width = 72, height = 16, end = series.at(-1)?.[0] || 1;
	const most = series.reduce((max, [, value]) => Math.max(max, value), 0) || 1;
	const x = (time) => (width * time / end).toFixed(1);
	const y = (value) => (height - 1 - (height - 2) * value / most).toFixed(1);
	const points = series.map(([time, value]) => `${x(time)},${y(value)}`);

	return draw("svg",
		{ class: "spark", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
		draw("polyline", { points: points.join(" ") }));
}

function growthCell(row) {
	return make("span.growing." + row.growth.shape, {}, row.series.length > 1 ? spark(row.series) : null, " ",
		row.growth.text);
}

function verdictCell(row) {
	return make("span.verdict." + row.verdict, {}, words.verdict[row.verdict]);
}

function whereCell(row) {
	return make("bdi", {}, where(row));
}

const SHAPES = Object.keys(words.growth);
const NUMBER = { id: "number", text: "group", cell: numberText, by: (row) => row.id, ascending: true };
const WHERE = { id: "where", text: isScan ? "what" : "allocated by", cell: whereCell, by: where, ascending: true };
const VERDICT = { id: "verdict", text: "verdict", cell: verdictCell,
	by: (row) => VERDICTS.indexOf(row.verdict), ascending: true,
	hidden: () => !hasVerdicts };

function columnsOfWatch() {
	return [NUMBER,
		{ id: "bytes", text: isScan ? "bytes" : "live", cell: (row) => amount(row, row.bytes), by: (row) => row.bytes },
		{ id: "share", text: "share", by: (row) => row.share,
			cell: (row) => make("span" + (row.section === "indirect" ? ".quiet" : ""), {}, percent(row.share, 1)) },
		{ id: "blocks", text: "blocks", cell: (row) => count(row.blocks), by: (row) => row.blocks },
		VERDICT,
		{ id: "growth", text: "growth", cell: growthCell, hidden: () => isScan,
			by: (row) => rises(row.growth) ? row.growth.bytes_per_minute : -1 - SHAPES.indexOf(row.growth.shape) },
		{ id: "inspan", text: "in the span", by: inSpan,
			cell: (row) => (inSpan(row) > 0 ? "+" : "") + amount(row, inSpan(row)),
			hidden: () => span.whole },
		{ id: "age", text: "oldest", by: (row) => row.oldest,
			cell: (row) => row.blocks && !row.label ? seconds(row.oldest) : "",
			hidden: () => isScan },
		WHERE];
}

function columnsOfDiff() {
	const show = (value, row) => row.group.by_rate ? rate(value) : size(value);
	const side = (row, which) => row.group.by_rate ? row.group[which + "_bytes_per_minute"] : row.group[which + "_bytes"];

	return [NUMBER,
		{ id: "delta", text: "change", by: (row) => row.change,
			cell: (row) => (row.change > 0 ? "+" : "") + show(row.change, row) },
		{ id: "before", text: "before", cell: (row) => show(side(row, "old"), row), by: (row) => row.before },
		{ id: "now", text: "now", cell: (row) => show(side(row, "new"), row), by: (row) => row.now },
		{ id: "word", text: "which", cell: (row) => row.group.change, by: (row) => row.group.change, ascending: true },
		VERDICT, WHERE];
}

function columnsOfSampled() {
	return [NUMBER,
		{ id: "interval", text: "leaks a minute", cell: intervalCell,
			by: (row) => row.estimate?.leaked_bytes_per_minute[0] ?? -1 },
		{ id: "calls", text: "calls/min", cell: (row) => count(row.estimate?.allocs_per_minute[0] ?? 0),
			by: (row) => row.estimate?.allocs_per_minute[0] ?? 0 },
		{ id: "turnover", text: "what becomes of it",
			cell: (row) => make("span.turnover." + row.group.turnover, {}, words.turnover[row.group.turnover] ?? ""),
			by: (row) => row.group.turnover ?? "", ascending: true },
		WHERE];
}

// --- what is below a row ---

function fact(name, value) {
	const isKnown = value !== null && value !== undefined && value !== "";

	return isKnown ? [make("dt", {}, name), make("dd", {}, value)] : [];
}

function ages(row) {
	if (!row.blocks || !row.oldest_s)
		return "";
	const oldest = seconds(row.oldest_s);

	return row.youngest_s < row.oldest_s ? `${seconds(row.youngest_s)} to ${oldest}` : oldest;
}

function sizesOf(g) {
	if (g.size_low === undefined)
		return "";
	return (g.size_low === g.size_high ? "" : g.size_low + " to ") + g.size_high + " bytes";
}

function kindFacts(g) {
	return [...fact("class", g.class && visible(g.class)),
		...fact("in module", g.class_module && visible(g.class_module)),
		...fact("each has", sizesOf(g)), ...fact("holds", g.content && visible(g.content))];
}

function callsOf(g) {
	return g.allocs ? `${count(g.allocs)}, ${g.frees ? count(g.frees) : "none"} freed` : "";
}

// If there are several.
function partsOf({ parts: sums }) {
	return VERDICTS.filter((v) => sums?.[v].blocks)
		.map((v) => `${count(sums[v].blocks)} ${words.verdict[v]}`).join(", ");
}

// Of what is lost with other rows, and in their numbers.
function countedIn(row) {
	return row.section === "indirect" ? rows.filter((its) => its.lost_rows.some((hang) => hang.row === row.id))
		.map(numberText).join(", ") : "";
}

function lostWith({ lost_with: sum }) {
	return sum.blocks ? `${size(sum.bytes)} in ${things(sum.blocks, "block")}` : "";
}

// Of a merged trace.
function processesOf(g) {
	return g.processes ? `in ${count(g.processes)} of ${count(report.processes.length)}, ` +
		`${g.processes > 1 ? "most in " : ""}${processText(report.processes[g.worst_process])}: ${size(g.worst_bytes)}${isSampled ? "/min" : ""}` : "";
}

function groupFacts(row) {
	const g = row.group;

	return [...fact("tag", g.tag && visible(g.tag)),
		...fact("family", families.size > 1 ? visible(g.family) : ""),
		...kindFacts(g),
		...fact("allocated here", callsOf(g)),
		...fact("of these", partsOf(row)),
		...fact("ages", ages(row)),
		...fact("processes", processesOf(row)),
		...fact("lost with it", lostWith(row)),
		...fact("lost with, and counted in", countedIn(row)),
		...fact("for example", row.groups.flatMap((index) => report.groups[index].examples).slice(0, 8).join(" ")),
		...(g.estimate ? estimateFacts(g) : [])];
}

function hangsOf({ lost_rows: list }) {
	const item = (hang) => make("li", {},
		`${numberText(rows[hang.row])} ${size(hang.bytes)} in ${things(hang.blocks, "block")}: `,
		make("bdi", {}, where(rows[hang.row])));

	return list.length ? make("details", {}, make("summary", {}, `${things(list.length, "group")} lost with it`),
		make("ul", {}, ...list.slice(0, 200).map(item))) : null;
}

function freedBy(g) {
	return (g.freed_by ?? []).map((f) => make("details", {},
		make("summary", {}, `${things(f.blocks, "other block")} of it, ${size(f.bytes)}, freed by `,
			make("bdi", {}, visible(f.name))),
		stackList(f.stack, f.wrappers, f.stack_end)));
}

function groupBelow(row) {
	const g = row.group;
	const text = () => `${numberText(row)} ${where(row)}\n${stackText(row.stack, row.wrappers, row.end)}\n`;
	const facts = isDiff ? [] : groupFacts(row);

	return make("div.inside", {}, row.stack.length ? copyButton(text) : null,
		facts.length ? make("dl.facts", {}, ...facts) : null,
		row.stack.length || row.label === null ? stackList(row.stack, row.wrappers, row.end) : null, isDiff ? null : hangsOf(row), ...freedBy(g));
}

// --- the table of groups ---

class Filter {
	constructor() {
		Object.assign(this, { text: "", verdict: "", shape: "", below: null });
	}

	// By name of any frame, by what the group is called, or by its number.
	matchesOf() {
		const found = namesWith(this.text), wanted = this.text.trim().toLowerCase();

		if (!found)
			return () => true;
		return (row) => row.stack.some((frame) => found[nameOfFrame[frame]]) ||
			where(row).toLowerCase().includes(wanted) ||
			numberText(row) === wanted || (row.group.tag ?? "").toLowerCase().includes(wanted);
	}

	of(list) {
		const matches = this.matchesOf();

		const isShape = (row) => (row.growth?.shape ?? row.group.change) === this.shape ||
			row.group.turnover === this.shape;

		return list.filter((row) => (!this.verdict || row.verdict === this.verdict) &&
			(!this.below || this.below[row.id]) && (!this.shape || isShape(row)) && matches(row));
	}
}

function shapeChoices() {
	if (isDiff)
		return ["appeared", "grew", "shrank", "went", "same"].map((word) => [word, word]);
	if (isSampled)
		return Object.entries(words.turnover);
	return Object.entries(words.growth);
}

function filterControls(filter, apply) {
	const search = make("input", { id: "groups-filter", type: "search", "aria-label": "filter the groups",
		placeholder: "function, class, number" });
	const verdicts = VERDICTS.filter((v) => rows.some((row) => row.verdict === v));
	const set = (member) => (value) => {
		filter[member] = value;
		apply();
	};

	search.addEventListener("input", () => whenPrepared(() => set("text")(search.value)));
	return [search,
		verdicts.length > 1 ? choice("verdict", "groups-verdict",
			[["", "all"], ...verdicts.map((v) => [v, words.verdict[v]])], set("verdict")) : null,
		isScan ? null : choice(isDiff ? "change" : isSampled ? "fate" : "growth", "groups-shape",
			[["", "all"], ...shapeChoices()], set("shape"))];
}

function putGroups() {
	if (!rows.length && refRows.length)
		return null;
	const filter = new Filter(), told = make("output.count", { id: "groups-count" });
	const columns = isDiff ? columnsOfDiff() : isSampled ? columnsOfSampled() : columnsOfWatch();
	const table = new Table("groups-table", "groups", columns, groupBelow);
	const all = button("all groups", { id: "groups-all", hidden: true }, () => flame.filter(null));
	const apply = () => {
		const list = filter.of(rows);

		const of = list.length < rows.length ? count(list.length) + " of " : "";
		told.textContent = of + things(rows.length, "group");
		all.hidden = !filter.below;
		table.set(list);
	};

	// The groups whose stack runs through what is zoomed in the flame graph; null: all.
	flame.filter = (its) => {
		filter.below = its && its.metric.rows !== refRows && its.at ? its.tree.rowsBelow(its.at) : null;
		apply();
	};
	section("groups", isScan ? "Classes and sizes" : isDiff ? "Changes" : "Groups",
		make("div.controls", {}, ...filterControls(filter, apply), all, told), table.element);
	apply();
	addEventListener("beforeprint", () => table.openAll(10));
	return table;
}
