// SPDX-License-Identifier: MIT
// page: the parts of the page in their order. What is about the run, and not about the target, is last.

function putFoot() {
	document.getElementById("foot").append(`mmattach ${visible(report.mmattach.version)}`);
}

// From anywhere but a field: what is typed there is text.
function searchKey(event) {
	const field = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);

	if (event.key !== "/" || field || event.ctrlKey || event.metaKey || event.altKey)
		return;
	event.preventDefault();
	(document.getElementById("flame-search") ?? document.getElementById("groups-filter"))?.focus();
}

readColors();
putHead();
putFlame();
const groupTable = putGroups();
const refTable = putRefs();
if (groupTable)
	putPlot(rows, groupTable);
else
	putPlot(refRows, refTable);
putHistograms();
putDoubleFrees();
putScan();
putPythonObjects();
putPointers();
putLookups();
putAccount();
putFoot();
addEventListener("keydown", searchKey);
document.documentElement.dataset.ready = "yes";
