// SPDX-License-Identifier: MIT
// flame: the flame graph. It is drawn on a canvas as large as what is seen of it, and only what is a pixel
// wide or more: the number of frames does not matter. flame_keys.js has what mouse and keys do.

const ROW = 19, GAP = 1, NARROWEST = 1;

class Flame {
	constructor(canvas, scroller, sizer) {
		Object.assign(this, { canvas, scroller, sizer });
		this.context = canvas.getContext("2d");
		this.metric = METRICS[0];
		this.order = CALLERS_FIRST;
		this.colors = isDiff ? "change" : hasVerdicts ? "verdict" : isScan ? "module" : "age";
		this.flipped = false;
		this.found = null;
		this.shown = [];		// {node, x, width, depth} in CSS pixels
		this.onchange = () => {};
		this.redraw = perFrame(() => this.draw());
		this.use();
	}

	// After a change of metric, order, or of the span that growth is of.
	use() {
		const before = this.tree;

		this.tree = treeOf(this.metric.rows, this.order);
		this.sums = this.tree.sum(this.metric.value);
		if (this.tree !== before) {
			this.zoomed = 0;
			this.at = 0;
		}
		this.useColors();
	}

	useColors() {
		const { tree, metric } = this;

		if (this.colors === "verdict")
			this.sumVerdicts();
		else if (this.colors === "age")
			this.ages = tree.largest((row) => metric.value(row) ? row.oldest : 0);
		else if (this.colors === "change")
			this.changes = tree.sum((row) => row.now - row.before);
		this.layout();
	}

	// null for a verdict that no row has.
	sumVerdicts() {
		const { tree, metric } = this, used = new Set(tree.rows.map(colorClass));

		const sumOf = (v) => tree.sum((row) => colorClass(row) === v ? metric.value(row) : 0);
		const onlyOne = used.size === 1;
		this.byVerdict = VERDICTS.map((v) => !used.has(v) ? null : onlyOne ? this.sums : sumOf(v));
	}

	// --- where each node is ---

	layout() {
		const width = this.scroller.clientWidth || 800;

		this.width = width;
		this.shown = [];
		this.placeAbove();
		this.placeBelow(this.zoomed, 0, width);
		this.rowsDeep = this.shown.reduce((deep, box) => Math.max(deep, box.depth), 0) + 1;
		this.sizer.style.height = this.rowsDeep * ROW + "px";
		this.scroller.style.height = this.rowsDeep * ROW + 2 + "px";
		this.redraw();
	}

	// What was zoomed into: each as wide as the whole.
	placeAbove() {
		for (let node = this.tree.parent[this.zoomed]; node >= 0; node = this.tree.parent[node])
			this.shown.unshift({
				node, x: 0, width: this.width, depth: this.tree.depth[node], above: true,
			});
	}

	placeBelow(top, left, width) {
		const stack = [[top, left, width]];
		const scale = width / (this.sums[top] || 1);

		while (stack.length) {
			const [node, x, wide] = stack.pop();
			let at = x;

			this.shown.push({ node, x, width: wide, depth: this.tree.depth[node] });
			for (const child of this.tree.childrenBy(this.sums, node)) {
				const its = this.sums[child] * scale;
				if (its < NARROWEST)
					break;
				stack.push([child, at, its]);
				at += its;
			}
		}
	}

	top(box) {
		return this.flipped ? (this.rowsDeep - 1 - box.depth) * ROW : box.depth * ROW;
	}

	boxOf(node) {
		return this.shown.find((box) => box.node === node);
	}

	boxAt(x, y) {
		const row = Math.floor((y + this.scroller.scrollTop) / ROW);
		const depth = this.flipped ? this.rowsDeep - 1 - row : row;

		return this.shown.find((box) => box.depth === depth && x >= box.x && x < box.x + box.width);
	}

	// --- drawing ---

	fit() {
		const ratio = Math.max(1, Math.min(2, devicePixelRatio || 1));
		const height = Math.min(this.scroller.clientHeight || 400, this.rowsDeep * ROW) || ROW;
		const { canvas, width } = this;

		const pixels = Math.round(width * ratio), lines = Math.round(height * ratio);
		if (canvas.width !== pixels || canvas.height !== lines) {
			canvas.width = pixels;
			canvas.height = lines;
			canvas.style.width = width + "px";
			canvas.style.height = height + "px";
		}
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.height = height;
	}

	draw() {
		const { context } = this;

		this.fit();
		context.fillStyle = colors.page;
		context.fillRect(0, 0, this.width, this.height);
		context.font = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
		context.textBaseline = "middle";
		this.letter = context.measureText("M").width;
		for (const box of this.shown)
			this.drawBox(box);
		this.drawFocus();
	}

	drawBox(box) {
		const y = this.top(box) - this.scroller.scrollTop;
		const { context } = this;

		if (y + ROW < 0 || y > this.height)
			return;
		context.globalAlpha = box.above ? 0.55 : 1;
		if (this.colors === "verdict" && !this.isFound(box.node))
			this.fillVerdicts(box, y);
		else
			this.fill(box.x, y, Math.max(1, box.width - GAP), this.colorOf(box.node));
		this.drawText(box, y);
		context.globalAlpha = 1;
	}

	drawText(box, y) {
		const room = Math.floor((box.width - 8) / this.letter);
		const text = room > 2 ? this.tree.short(box.node) : "";

		if (!text)
			return;
		this.context.fillStyle = colors.ink;
		const shown = text.length > room ? text.slice(0, room - 1) + "…" : text;
		this.context.fillText(shown, box.x + 4, y + ROW / 2);
	}

	drawFocus() {
		const box = this.boxOf(this.at);

		if (!box || document.activeElement !== this.canvas)
			return;
		this.context.strokeStyle = colors.focus;
		this.context.lineWidth = 2;
		const y = this.top(box) - this.scroller.scrollTop;
		this.context.strokeRect(box.x + 1, y + 1, Math.max(2, box.width - 3), ROW - 3);
	}

	fill(x, y, width, color) {
		this.context.fillStyle = color;
		this.context.fillRect(x, y, width, ROW - GAP);
	}

	// Each verdict has its share of the box, the worst first: it is drawn last, and so has a pixel at least.
	fillVerdicts(box, y) {
		const width = Math.max(1, box.width - GAP), sum = this.sums[box.node];
		let end = box.x + width;

		if (!(sum > 0))
			this.fill(box.x, y, width, colors.unknown);
		for (let v = VERDICTS.length - 1; v >= 0; v--) {
			const part = sum > 0 ? (this.byVerdict[v]?.[box.node] ?? 0) / sum : 0;
			const start = Math.max(box.x, Math.min(end - width * part, end - 1));
			if (part > 0)
				this.fill(start, y, Math.max(1, end - start), colors[VERDICTS[v]]);
			end -= width * part;
		}
	}

	isFound(node) {
		return this.found && node && this.found[this.tree.name[node]];
	}

	colorOf(node) {
		if (this.isFound(node))
			return colors.match;
		if (this.colors === "age")
			return colorOfAge(this.ages[node] / (run.seconds || 1));
		if (this.colors === "module")
			return node ? colorOf(this.tree.module(node)) : colors.unknown;
		if (this.colors === "change")
			return colorOfChange(this.changes[node] / (this.sums[node] || 1));
		return colors.unknown;
	}

	// --- what can be done with it ---

	zoom(node) {
		this.zoomed = node;
		this.at = node;
		this.layout();
		this.reveal(node);
		this.onchange();
	}

	search(text) {
		this.found = namesWith(text);
		this.redraw();
		this.onchange();
	}

	matched() {
		return this.found ? this.tree.shareOf(this.found, this.sums, this.zoomed) : 0;
	}

	// Into what is seen of the graph.
	reveal(node) {
		const box = this.boxOf(node);

		if (!box)
			return;
		const y = this.top(box), { scrollTop, clientHeight } = this.scroller;
		if (y < scrollTop)
			this.scroller.scrollTop = y;
		else if (y + ROW > scrollTop + clientHeight)
			this.scroller.scrollTop = y + ROW - clientHeight;
	}

	describe(node) {
		const { tree, sums, metric } = this;
		const share = percent(sums[node], sums[0]), here = percent(sums[node], sums[this.zoomed]);
		const delta = isDiff ? `, ${this.sayChange(node)}` : "";

		return `${tree.text(node)}: ${metric.show(sums[node])}, ${share}` +
			`${this.zoomed ? ` (${here} of what is zoomed)` : ""}${delta}`;
	}

	sayChange(node) {
		this.changes ??= this.tree.sum((row) => row.now - row.before);
		const change = this.changes[node];

		const text = this.metric.rows === refRows ? count(change) : size(change);

		return (change > 0 ? "+" : "") + text;
	}
}
