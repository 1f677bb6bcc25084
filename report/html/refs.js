// SPDX-License-Identifier: MIT
// refs: objects with references: where these were acquired and released, and what is left; and blocks that
// were freed twice.

function balance(row) {
	return `${row.net_text} each, ${things(row.objects, "object")}`;
}

function columnsOfRefs() {
	const number = { id: "number", text: "group", cell: numberText, by: (row) => row.id, ascending: true };

	if (isDiff)
		return [number,
			{ id: "delta", text: "change", cell: (row) => signed(row.change, count), by: (row) => row.change },
			{ id: "before", text: "objects before", cell: (row) => count(row.before), by: (row) => row.before },
			{ id: "now", text: "now", cell: (row) => count(row.now), by: (row) => row.now },
			{ id: "word", text: "which", cell: (row) => row.group.change, by: (row) => row.group.change,
				ascending: true },
			{ id: "where", text: "acquired by", cell: whereCell, by: where, ascending: true }];
	return [number,
		{ id: "count", text: "objects", cell: (row) => count(row.group.objects), by: (row) => row.group.objects },
		{ id: "delta", text: "net of each", by: (row) => row.net[1], cell: (row) => row.net_text },
		{ id: "growth", text: "growth", cell: growthCell, by: (row) => row.growth.references_per_minute ?? -1 },
		{ id: "age", text: "oldest", cell: (row) => seconds(row.oldest), by: (row) => row.oldest },
		{ id: "where", text: "acquired by", cell: whereCell, by: where, ascending: true }];
}

// --- below a row ---

function times(n) {
	if (n === 1 || n === 2)
		return n === 1 ? "once" : "twice";
	return n > 0 && n < 0.05 ? "<0.1 times" : `${n === Math.floor(n) ? n.toFixed(0) : n.toFixed(1)} times`;
}

function outstandingOf({ outstanding, acquired_in_all: all }) {
	const areThere = "are on objects that are still live";

	if (outstanding < all)
		return `${count(outstanding)} of ${count(all)} acquired here (${percent(outstanding, all)}) ${areThere}`;
	return outstanding === 1 ? "the 1 acquired here is on an object that is still live"
		: `all ${count(outstanding)} acquired here ${areThere}`;
}

// Several call sites have about that share: why is it this one?
function reasonOf(use) {
	if (use.follows)
		return `this one acquired just as many as are too many, on ${use.as_many} of ${use.several} objects with 2 or more`;
	return "this one's module releases least of what it acquires: " +
		`${base(visible(use.module || "?"))} acquired ${count(use.module_acquired)} on these objects and released ` +
		count(use.module_released);
}

function siteDetails(text, use, mark, reason, open) {
	return make("details", { open },
		make("summary", {}, mark ? make("span.suspect", {}, mark) : null, `${text}: `,
			make("bdi", {}, visible(use.name)),
			use.module ? make("span.quiet", {}, ` in ${visible(base(use.module))}`) : null),
		reason ? make("p.quiet", {}, reason) : null, stackList(use.stack, use.wrappers, use.stack_end));
}

function acquiredDetails(g, use, index) {
	const isSuspect = index < g.suspects;
	const mark = !isSuspect ? "" : g.suspects === 1 ? "MOST SUSPECT: " : "SUSPECT: ";
	const reason = isSuspect && g.suspects < g.near ? `of ${g.near} call sites with about that share ${reasonOf(use)}` : "";

	return siteDetails(`acquired ${times(use.per_object)} each; ${outstandingOf(use)}`, use, mark, reason, isSuspect || !index);
}

function sites(title, list) {
	return list.length ? [make("h3", {}, title), ...list] : [];
}

function objectList(groups) {
	const all = groups.flatMap((g) => g.object_list ?? []), list = all.slice(0, 200);

	const item = (o) => make("li", {}, `${o.address}, ${seconds(o.age_s)} old: acquired ` +
		`${o.acquired.join(", ") || "0"}; released ${o.released.join(", ") || "0"}`);

	return list.length ? make("details", {}, make("summary", {}, things(all.length, "object")),
		make("ul", {}, ...list.map(item))) : null;
}

function agesOfObjects(g) {
	const oldest = seconds(g.oldest_s);

	return g.youngest_s < g.oldest_s ? `${seconds(g.youngest_s)} to ${oldest}` : oldest;
}

function refBelow(row) {
	const g = row.group;

	if (isDiff)
		return make("div.inside", {}, stackList(g.stack, g.wrappers, g.stack_end));
	return make("div.inside", {}, make("dl.facts", {}, ...fact("left", balance(row)), ...fact("kind", visible(g.noun)),
		...fact("family", families.size > 1 ? visible(g.family) : ""), ...fact("ages", agesOfObjects(g)),
		...fact("seen", g.older ? "they are older than the watch" : ""),
		...fact("counted", g.counted ? "by the objects' own counts" : ""),
		...fact("for example", row.groups.flatMap((its) => its.examples).slice(0, 8).join(" "))),
	...sites("Acquired, most suspect first", g.acquired.map((use, i) => acquiredDetails(g, use, i))),
	...sites("Released", g.released.map((use, i) => siteDetails(`released ${times(use.per_object)} each`, use, "", "", !i))),
	objectList(row.groups));
}

// The table; null: there are none.
function putRefs() {
	if (!refRows.length)
		return null;
	const table = new Table("refs-table", "objects with references", columnsOfRefs(), refBelow);

	section("refs", isDiff ? "Changes of objects with references" : "Objects with references", table.element);
	table.set(refRows);
	addEventListener("beforeprint", () => table.openAll(5));
	return table;
}

// --- freed twice ---

function sideDetails(title, side, open) {
	return make("details", { open }, make("summary", {}, title), stackList(side.stack, 0, side.stack_end));
}

function putTwice(twice) {
	const what = `${things(twice.count, "time")}, for example ${twice.example} after ${seconds(twice.at_s)}`;

	return make("div.found", {}, make("p.suspect", {}, what), sideDetails("the second free", twice.second, true),
	sideDetails("the first free", twice.first, false), sideDetails("allocated", twice.alloc, false));
}

function putDoubleFrees() {
	const list = report.double_frees ?? [];

	if (list.length)
		section("twice", "Freed twice", ...list.map(putTwice));
}
