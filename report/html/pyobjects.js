// SPDX-License-Identifier: MIT
// pyobjects: the objects of CPython that a scan found, by type.

function holderText(row) {
	return row.holders.map((holder) => `${visible(holder.type)} ${count(holder.pointers)}`).join(", ");
}

function typeTable(types) {
	const columns = [
		{ id: "bytes", text: "bytes", cell: (row) => size(row.bytes), by: (row) => row.bytes },
		{ id: "count", text: "objects", cell: (row) => count(row.objects), by: (row) => row.objects },
		textColumn("text", "type", (row) => visible(row.name)),
		{ id: "site", text: "pointers from", cell: (row) => make("bdi", {}, holderText(row)), by: holderText, ascending: true }];
	return plainTable("python-table", "objects of CPython", columns, types);
}

function arenaText(py) {
	const agree = py.differing ? `${things(py.differing, "pool")} or arenas do not agree with their own figures` : "its own figures agree";

	return `${things(py.arenas, "arena")} of ${size(py.arena_bytes)}: ${things(py.small.blocks, "block")}, ` +
		`${size(py.small.bytes)} in use (${agree}); ${size(py.free_bytes)} free`;
}

function putPythonObjects() {
	const py = isScan ? report.scan.python : null;

	if (!py)
		return;
	if (py.why_not !== null) {
		section("python", `CPython ${visible(py.version)}`, make("p.doubtful", {}, `its objects are not listed: ${visible(py.why_not)}`));
		return;
	}
	section("python", `Objects of CPython ${visible(py.version)}: ${count(py.objects)} in ${size(py.bytes)}`,
		typeTable(py.types), py.arenas ? make("p", {}, arenaText(py)) : null,
		py.unseen_bytes ? make("p.doubtful", {}, `${size(py.unseen_bytes)} of arenas were not seen`) : null,
		make("p.quiet", {}, "Objects have no verdicts. Those of more than 512 bytes are blocks of malloc, and in the groups as well."));
}
