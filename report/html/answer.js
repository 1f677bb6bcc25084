// SPDX-License-Identifier: MIT
// answer: the head of the page: what the text report says first, and four numbers.

// Of rows that are lost with others only those others count, as in the answer.
function growthInAll() {
	const growing = rows.filter((row) => rises(row.growth));
	const held = growing.filter((row) => row.section === "indirect").length;

	return { groups: growing.filter((row) => row.section !== "indirect" && !isPlain(row)).length, withOthers: held,
		rate: report.answer_growth };
}

function lostNumber() {
	const v = run.verdicts;

	if (!v.known)
		return ["lost for good", "not known", v.why_not ? visible(v.why_not) : "no verdicts were asked for"];
	const sums = isScan ? run.verdicts.all : v.watched;
	const lost = sums.definite.bytes + sums.indirect.bytes, blocks = sums.definite.blocks + sums.indirect.blocks;

	return ["lost for good", size(lost), `${things(blocks, "block")}; possibly lost ${size(sums.possible.bytes)}`, lost > 0];
}

function growingNumber() {
	const { groups, withOthers, rate: bytes } = growthInAll();
	const plain = rows.filter((row) => allPlain && rises(row.growth));

	if (plain.length)
		return ["growing", count(plain.reduce((sum, row) => sum + row.growth.bytes_per_minute, 0)) + "/min",
			things(plain.length, "group"), true];

	if (groups && bytes > 0)
		return ["growing", rate(bytes), things(groups, "group") + " grow" + (groups === 1 ? "s" : "") +
			(withOthers ? `, and ${count(withOthers)} lost with them` : ""), true];
	const short = rows.some((row) => row.growth.shape === "unknown");
	return ["growing", ...short ? ["not known", words.growth.unknown] : report.no_growth];
}

function liveNumber() {
	const t = report.totals, names = sizeless.map((its) => visible(its.family)).join(", ");
	const of = (list, member) => list.reduce((sum, its) => sum + its[member], 0);

	if (allPlain)
		return ["live", count(t.live_blocks), `${names}, of ${count(t.allocs)}`];
	if (sizeless.length)
		return ["live", size(of(sized, "bytes")), `${things(of(sized, "live"), "block")}, and ` +
			`${count(of(sizeless, "live"))} of ${names}`];
	return ["live", size(t.live_bytes), `${things(t.live_blocks, "block")} of ${things(t.allocs, "allocation")}`];
}

function costNumber() {
	return ["cost to the target", ...report.cost];
}

function budgetNumber() {
	const b = run.budget;

	return b ? ["cost to the target", percent(b.spent, 1), `of the time; promised at most ${percent(b.promise, 1)}`] : costNumber();
}

function numbersOfSampled() {
	const known = rows.filter((row) => row.group.turnover === "stays");
	const leaks = known.reduce((sum, row) => sum + (row.estimate.leaked_bytes_per_minute[0] ?? 0), 0);
	const unknown = rows.filter((row) => row.group.turnover === "unknown").length;

	return [["leaks", rate(leaks), `estimated, of ${things(known.length, "group")}`, leaks > 0],
		["may leak", count(unknown), "groups of which it is not known"],
		["still live", count(report.totals.live_blocks), `of ${things(report.totals.allocs, "tracked block")}`], budgetNumber()];
}

function numbersOfDiff() {
	const of = (wanted) => rows.filter((row) => wanted.includes(row.group.change));
	const grew = of(["grew", "appeared"]), shrank = of(["shrank", "went"]);
	const sum = (list) => list.reduce((all, row) => all + row.now - row.before, 0);

	return [["grew", size(sum(grew)), things(grew.length, "group"), grew.length > 0],
		["shrank", size(-sum(shrank)), things(shrank.length, "group")],
		["live now", size(report.new.live_bytes), things(report.new.live_blocks, "block")],
		["live before", size(report.old.live_bytes), things(report.old.live_blocks, "block")]];
}

function numbersOfScan() {
	const sums = run.verdicts.all;

	return [lostNumber(),
		["possibly lost", run.verdicts.known ? size(sums.possible.bytes) : "not known", things(sums.possible.blocks, "block")],
		["in use", size(report.totals.live_bytes), things(report.totals.live_blocks, "block")],
		["cost to the target", report.scan.core ? "none" : seconds(run.verdicts.pause_s),
			report.scan.core ? "it is a core" : `stopped once, ${things(run.verdicts.threads, "thread")}`]];
}

const refFamilies = (report.families ?? []).filter((family) => family.references);

function numbersOfRefs() {
	const surplus = refRows.reduce((sum, row) => sum + row.surplus, 0);
	const growing = refRows.filter((row) => rises(row.growth)).length;
	const objects = refFamilies.reduce((sum, total) => sum + total.live, 0);
	const acquired = refFamilies.reduce((sum, total) => sum + total.acquired, 0);

	return [["not released", count(surplus), `of ${things(acquired, "reference")}`, surplus > 0],
		["growing", count(growing), "groups of objects", growing > 0],
		["live", count(objects), "objects"], costNumber()];
}

function numbers() {
	if (isDiff)
		return numbersOfDiff();
	if (isScan)
		return numbersOfScan();
	if (isSampled)
		return numbersOfSampled();
	if (!rows.length && refFamilies.length)
		return numbersOfRefs();
	return [lostNumber(), growingNumber(), liveNumber(), costNumber()];
}

function putNumber([label, value, more, alarming]) {
	return make("div.number" + (alarming ? ".alarming" : ""), {}, make("dt", {}, label), make("dd", {}, make("strong", {}, value),
		make("span", {}, more)));
}

// Lines that are indented belong to the line before: one for each family.
function putAnswer(head) {
	const [first, ...more] = report.answer;
	let list = null;

	head.append(make("h1", { id: "answer" }, make("bdi", {}, first ?? "mmattach")));
	for (const line of more) {
		if (line.startsWith(" ")) {
			list ??= head.appendChild(make("ul.families"));
			list.append(make("li", {}, line.trim()));
		} else if (line) {
			head.append(make("p" + (/^(incomplete|verdicts may)/.test(line) ? ".doubtful" : ""), {}, line));
		}
	}
}

function putHead() {
	const head = document.getElementById("head");
	const name = visible((report.target ?? report.new).comm);

	document.title = (name || "mmattach") + (isDiff ? ": difference" : isScan ? ": scan" : ": memory");
	putAnswer(head);
	head.append(make("dl.numbers", { "aria-label": "the four numbers" }, ...numbers().map(putNumber)));
}
