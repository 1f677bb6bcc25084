// SPDX-License-Identifier: MIT
// lookup: the blocks of a group (--block-list), and what is at an address (--block-at).

const LISTED = [
	textColumn("text", "address", (row) => row.address),
	{ id: "bytes", text: "bytes", cell: (row) => count(row.bytes), by: (row) => row.bytes ?? 0 },
	{ id: "count", text: "references", by: (row) => row.net ?? 0,
		cell: (row) => row.net === undefined ? "" : signed(row.net, count) },
	{ id: "age", text: "age", cell: (row) => seconds(row.age_s), by: (row) => row.age_s },
];

function listedColumns(list) {
	return LISTED.filter(({ id }) => (id !== "bytes" || list.some((row) => row.bytes !== undefined)) &&
		(id !== "count" || list.some((row) => row.net !== undefined)));
}

function listTitle(of) {
	const text = typeof of.number === "number" ? `[${of.number}]` : "a group";

	return `The blocks of ${families.size > 1 && of.family ? visible(of.family) + " " : ""}${text}, oldest first`;
}

function entryText(found) {
	return typeof found.number === "number" ? `, in [${found.number}]` : "";
}

function foundBlock(block) {
	const inside = block.offset ? `${count(block.offset)} bytes inside of ` : "the beginning of ";
	const verdict = block.verdict && block.verdict !== "unknown" ? ", " + words.verdict[block.verdict] : "";

	return make("div.found", {},
		make("p", {}, `${inside}a ${visible(block.noun || "block")} of ${count(block.bytes)} bytes, ` +
			`${seconds(block.age_s)} old${verdict}${entryText(block)}`),
		stackList(block.stack, block.wrappers, block.stack_end));
}

function useDetails(use) {
	const what = [use.acquired ? `acquired ${count(use.acquired)}` : "", use.released ? `released ${count(use.released)}` : ""];

	return make("details", {}, make("summary", {}, what.filter(Boolean).join(", ") + " by ",
		make("bdi", {}, visible(use.name))), stackList(use.stack, use.wrappers, use.stack_end));
}

function foundObject(object) {
	return make("div.found", {}, make("p", {}, `${visible(object.noun || "object")}, ${signed(object.net, count)} ` +
		`${Math.abs(object.net) === 1 ? "reference" : "references"}, ${seconds(object.age_s)} old` +
		`${object.older ? ", older than the watch" : ""}${entryText(object)}`), ...object.uses.map(useDetails));
}

function putAt(at) {
	const found = [...(at.blocks ?? []).map(foundBlock), ...(at.objects ?? []).map(foundObject)];
	const twice = typeof at.released_twice_s === "number"
		? [make("p.suspect", {}, `freed twice, ${seconds(at.released_twice_s)} after the beginning`)] : [];
	const nothing = make("p", {}, "no block that is live, and no object");

	return [make("h3", {}, at.address), ...twice, ...found.length ? found : [nothing]];
}

function putLookups() {
	const list = report.block_list, at = report.block_at ?? [];

	if (list?.length)
		section("blocks", listTitle(report.block_list_of ?? {}),
			plainTable("blocks-table", "blocks", listedColumns(list), list));
	if (at.length)
		section("at", "At these addresses", ...at.flatMap(putAt));
}
