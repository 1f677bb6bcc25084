// SPDX-License-Identifier: MIT
// dom: elements made by hand. Text is only ever textContent: nothing of a report is markup.

const SVG = "http://www.w3.org/2000/svg";

// make("td.number", {title: "..."}, "text", element)
function make(what, attributes = {}, ...inside) {
	const [tag, ...classes] = what.split(".");
	const element = document.createElement(tag);

	if (classes.length)
		element.className = classes.join(" ");
	for (const [name, value] of Object.entries(attributes))
		if (name.startsWith("on"))
			element.addEventListener(name.slice(2), value);
		else if (value !== null && value !== false)
			element.setAttribute(name, value === true ? "" : value);
	element.append(...inside.filter((part) => part !== null && part !== undefined));
	return element;
}

function draw(tag, attributes = {}, ...inside) {
	const element = document.createElementNS(SVG, tag);

	for (const [name, value] of Object.entries(attributes))
		element.setAttribute(name, value);
	element.append(...inside);
	return element;
}

function section(id, title, ...inside) {
	const element = make("section", { id, "aria-labelledby": id + "-title" }, make("h2", { id: id + "-title" }, title), ...inside);

	document.getElementById("main").append(element);
	return element;
}

function choice(label, id, options, onchange) {
	const select = make("select", { id, onchange: () => onchange(select.value) },
		...options.map(([value, text]) => make("option", { value }, text)));

	return make("label.choice", {}, label, select);
}

function button(text, attributes, onclick) {
	return make("button", { type: "button", ...attributes, onclick }, text);
}

// Without the clipboard's permission, as in a page that was opened as a file: the old way.
async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const area = make("textarea.aside", {}, text);

		document.body.append(area);
		area.select();
		const done = document.execCommand("copy");
		area.remove();
		return done;
	}
}

function copyButton(text) {
	const it = button("copy", { class: "copy" }, async () => {
		it.textContent = await copy(text()) ? "copied" : "select it by hand";
	});

	return it;
}

// Calls it at most once a frame.
function perFrame(work) {
	let due = false;

	return () => {
		if (due)
			return;
		due = true;
		requestAnimationFrame(() => {
			due = false;
			work();
		});
	};
}
