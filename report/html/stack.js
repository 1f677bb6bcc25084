// SPDX-License-Identifier: MIT
// stack: a stack as a list, leaf first, as the text report has it; and as text, to be copied.

// Of frames with a function; without one that is what is shown as the name.
function placeText(number) {
	if (!frameNumber(number, FUNCTION) || !frameNumber(number, MODULE))
		return "";
	return placeOf(number) + (frameNumber(number, INLINED) ? ", inlined" : "");
}

function frameText(number, index) {
	const place = placeText(number), source = sourceOf(number);

	return `#${index} ${nameText(nameOfFrame[number])}${place ? ` (${place})` : ""}${source ? " " + source : ""}`;
}

function stackText(stack, wrappers, end) {
	const lines = stack.slice(wrappers).map(frameText);

	if (words.stack_end[end])
		lines.push(words.stack_end[end]);
	return lines.join("\n");
}

function frameItem(number, index) {
	const source = sourceOf(number);

	return make("li", {},
		make("span.index", {}, "#" + index), " ",
		make("bdi.name", {}, nameText(nameOfFrame[number])), " ",
		make("span.place", {}, placeText(number)), source ? " " : "",
		make("bdi.source", {}, source));
}

// The wrappers in front are the allocator's.
function stackList(stack, wrappers, end) {
	const list = make("ol.stack", {}, ...stack.slice(wrappers).map(frameItem));

	if (!stack.length)
		list.append(make("li", {}, "no stack is known"));
	if (words.stack_end[end])
		list.append(make("li.note", {}, words.stack_end[end]));
	return list;
}
