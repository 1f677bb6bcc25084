// SPDX-License-Identifier: MIT
// scan: what a scan says of the whole heap, and the answers to --who-points-at.

// --- bars ---

//	bar	{label, value, text, kind}
function barList(bars) {
	const most = bars.reduce((max, bar) => Math.max(max, bar.value), 0) || 1;

	return make("div.bars", { role: "list" }, ...bars.flatMap(({ label, value, text, kind }) => {
		const bar = make("span.bar" + (kind ? "." + kind : ""));

		bar.style.width = 100 * value / most + "%";
		return [make("span", { role: "listitem" }, label), make("span.track", { "aria-hidden": "true" }, bar),
			make("span.n", {}, text)];
	}));
}

// --- the heap ---

function verdictBars() {
	const sums = run.verdicts.all;

	return VERDICTS.filter((v) => sums[v].blocks || v !== "unknown" && run.verdicts.known)
		.map((v) => ({ label: words.verdict[v], value: sums[v].bytes, kind: v,
			text: `${size(sums[v].bytes)} in ${things(sums[v].blocks, "block")}` }));
}

function heapBars(heap) {
	const bar = (label, value, more) => ({ label, value, text: `${size(value)}, ${percent(value, heap.system)}${more ?? ""}` });

	return [bar("in use, block headers included", heap.used),
		bar("free, between blocks", heap.free.bytes, ` in ${things(heap.free.blocks, "piece")}`),
		bar("free, at the ends of its heaps", heap.top),
		bar("its own data", heap.other),
		bar("of others, between its own", heap.foreign),
		bar("not seen", heap.unseen)].filter((its) => its.value > 0);
}

function arenaTable(arenas) {
	const columns = [
		{ id: "where", text: "arena", cell: (row) => row.address, by: (row) => row.address, ascending: true },
		{ id: "bytes", text: "from the system", cell: (row) => size(row.system), by: (row) => row.system },
		{ id: "count", text: "in use", cell: (row) => size(row.used.bytes), by: (row) => row.used.bytes },
		{ id: "blocks", text: "blocks", cell: (row) => count(row.used.blocks), by: (row) => row.used.blocks },
		{ id: "now", text: "free in lists", cell: (row) => size(row.fast.bytes + row.tcache.bytes + row.bins.bytes),
			by: (row) => row.fast.bytes + row.tcache.bytes + row.bins.bytes },
		{ id: "before", text: "free at its end", cell: (row) => size(row.top), by: (row) => row.top }];
	return plainTable("arenas-table", "arenas", columns, arenas);
}

function problems() {
	const { problems: list, more_problems: more } = report.scan;

	if (!list.length)
		return [];
	return [make("h3.suspect", {}, "Corrupt"), make("ul", { id: "problems" },
		...list.map((problem) => make("li", {}, `${problem.address}: ${visible(problem.what)}`)),
		more ? make("li", {}, `and ${count(more)} more`) : null)];
}

function sinceTheTrace() {
	const t = report.scan.trace;

	if (!t)
		return [];
	const when = t.before_s === null ? "" : ` ${seconds(t.before_s)} before`;
	return [make("h3", {}, "Blocks of the trace"), make("dl.facts", {},
		...fact(`live when the watch ended${when}`, things(t.live, "block")),
		...fact("of them still there, with the same size", `${count(t.same)}; certainly the same: ${count(t.certain)}`),
		...fact("there with another size", count(t.resized)))];
}

function heapParts(heap) {
	if (!heap.known)
		return [make("p", {}, heap.other_allocator ? `blocks of another allocator are not listed: ${visible(heap.other_allocator)}`
			: "the allocator's blocks could not be listed")];
	return [make("h3", {}, `What the allocator has: ${size(heap.system)}`), barList(heapBars(heap)),
		heap.adds_up ? null : make("p.doubtful", {}, "its own figures do not agree"),
		heap.mmapped.blocks ? make("p", {}, `${things(heap.mmapped.blocks, "block")} of their own mapping, ` +
			size(heap.mmapped.bytes)) : null,
		heap.arenas.length > 1 ? make("h3", {}, "Arenas") : null, heap.arenas.length > 1 ? arenaTable(heap.arenas) : null];
}

function putScan() {
	if (!isScan)
		return;
	const { heap } = report.scan;

	section("heap", "Heap", run.verdicts.known ? null
		: make("p.doubtful", {}, `no verdicts: ${visible(run.verdicts.why_not)}`),
	...problems(), barList(verdictBars()), ...heapParts(heap), ...sinceTheTrace());
}

// --- what points at what ---

function blockText(block) {
	const parts = [things(block.size, "byte")];

	if (block.label)
		parts.push(visible(block.label));
	if (block.verdict !== "unknown")
		parts.push(words.verdict[block.verdict]);
	return parts.join(", ");
}

function ofThread(pointer) {
	return pointer.tid ? ` of thread ${pointer.tid}` : "";
}

function dataPlace(pointer) {
	if (!pointer.module)
		return `memory at ${pointer.at}`;
	const beyond = pointer.symbol_offset ? "+" + pointer.symbol_offset : "";

	return `data of ${base(visible(pointer.module))}+${pointer.module_offset}` +
		(pointer.symbol ? ` (${visible(pointer.symbol)}${beyond})` : "");
}

function stackPlace(pointer) {
	const { from_sp: from } = pointer;
	const sp = from === null ? "" : `, sp${from < 0 ? "-" : "+"}0x${Math.abs(from).toString(16)}`;

	return `stack${ofThread(pointer)}${sp}`;
}

function blockPlace(pointer, to) {
	const inside = BigInt(pointer.at) - BigInt(pointer.block.address);

	return pointer.block.address === to ? `the block itself +${inside}`
		: `block ${pointer.block.address} (${blockText(pointer.block)}) +${inside}`;
}

const PLACES = {
	block: blockPlace, stack: stackPlace, data: dataPlace,
	register: (pointer) => `register ${visible(pointer.register ?? "?")}${ofThread(pointer)}`,
	tls: (pointer) => `thread-local memory${ofThread(pointer)} at ${pointer.at}`,
	allocator: (pointer) => `the allocator's or the loader's own memory at ${pointer.at}`,
	unknown: (pointer) => `memory at ${pointer.at}`,
};

function pointerItem(pointer, to) {
	const inside = BigInt(pointer.value) - BigInt(to);

	return make("li", {}, make("bdi", {}, PLACES[pointer.place](pointer, to)), make("span.quiet", {},
		inside ? ` points ${inside} bytes inside` : " points at its beginning"));
}

function pointedAt(answer) {
	const { address, block } = answer;

	if (!block)
		return `${address} is in no block that is in use${answer.where ? ", but in " + visible(answer.where) : ""}`;
	if (address === block.address)
		return `${address} is the beginning of a block of ${blockText(block)}`;
	const inside = BigInt(address) - BigInt(block.address);
	return `${address} is ${inside} bytes inside of the block at ${block.address} of ${blockText(block)}`;
}

// The first link is one of the pointers that are listed, and if it is the first of these, not repeated.
function chainParts(answer, to) {
	const { chain, pointers } = answer;
	const isListed = chain.length && pointers.length && pointers[0].at === chain[0].at;

	if (chain.length < 2)
		return [];
	const what = !isListed ? "it" : answer.total > 1 ? "the first of them" : "that";
	const items = chain.map((link, i) => pointerItem(link, i ? chain[i - 1].block.address : to));
	return [make("p", {}, what + (answer.chain_has_root ? " is reached through:"
		: answer.chain_is_ring ? " is held by a ring of blocks, at which nothing else points:"
		: ` is held through (no root was found in ${things(chain.length, "step")}):`)),
	make("ol.chain", {}, ...items.slice(isListed ? 1 : 0))];
}

function pointerAnswer(answer) {
	const to = answer.block?.address ?? answer.address;
	const more = answer.total - answer.pointers.length;

	return make("div.answer", {}, make("h3", {}, make("bdi", {}, pointedAt(answer))),
		answer.total ? make("ul.chain", {}, ...answer.pointers.map((pointer) => pointerItem(pointer, to)))
			: make("p", {}, "nothing points there"),
		more > 0 ? make("p.quiet", {}, `and ${things(more, "more pointer")}`) : null,
		...chainParts(answer, to));
}

function putPointers() {
	if (report.pointers?.length)
		section("pointers", "What points there", ...report.pointers.map(pointerAnswer));
}
