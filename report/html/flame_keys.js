// SPDX-License-Identifier: MIT
// flame_keys: the flame graph's place in the page: its choices, the mouse, and the keyboard.

const flame = { it: null, filter: null };

function leftToRight(boxes) {
	return boxes.sort((a, b) => a.x - b.x);
}

// Whatever is drawn, the way to callers is towards the root.
function keyTarget(flame, key) {
	const { tree, at } = flame;
	const down = flame.flipped ? "ArrowUp" : "ArrowDown", up = flame.flipped ? "ArrowDown" : "ArrowUp";

	if (key === up)
		return at ? tree.parent[at] : at;
	if (key === down)
		return leftToRight(flame.shown.filter((box) => tree.parent[box.node] === at))[0]?.node ?? at;
	if (key === "Home")
		return 0;
	const here = flame.boxOf(at);
	const beside = leftToRight(flame.shown.filter((box) => box.depth === here?.depth));
	const index = beside.indexOf(here) + (key === "ArrowRight" ? 1 : -1);
	return beside[index]?.node ?? at;
}

function flameKeys(flame, status, reset) {
	return (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (event.key === "Enter" || event.key === " ") {
			flame.zoom(flame.at);
		} else if (event.key === "Backspace") {
			flame.zoom(Math.max(0, flame.tree.parent[flame.zoomed]));
		} else if (event.key === "Escape") {
			reset();
		} else if (event.key.startsWith("Arrow") || event.key === "Home") {
			flame.at = keyTarget(flame, event.key);
			flame.reveal(flame.at);
			flame.redraw();
		} else {
			return;
		}
		event.preventDefault();
		status.textContent = flame.describe(flame.at);
	};
}

function flamePointer(flame, status) {
	const { canvas } = flame;
	const under = (event) => {
		const { left, top } = canvas.getBoundingClientRect();
		return flame.boxAt(event.clientX - left, event.clientY - top);
	};

	canvas.addEventListener("pointermove", (event) => {
		const box = under(event);

		canvas.style.cursor = box ? "pointer" : "";
		canvas.title = box ? flame.describe(box.node) : "";
		if (box)
			status.textContent = flame.describe(box.node);
	});
	canvas.addEventListener("click", (event) => {
		const box = under(event);

		if (box)
			flame.zoom(box.node);
		status.textContent = flame.describe(flame.at);
	});
}

function flameLegend(flame) {
	const item = (color, text) => {
		const key = make("i");

		key.style.background = color;
		return make("span", {}, key, text);
	};

	if (flame.colors === "verdict" && isSampled)
		return Object.entries(words.turnover)
			.map(([fate, text]) => item(colors[TURNOVER_COLORS[fate]], text));
	if (flame.colors === "verdict")
		return VERDICTS.filter((v) => flame.metric.rows.some((row) => row.verdict === v))
			.map((v) => item(colors[v], words.verdict[v]));
	if (flame.colors === "age")
		return [0, 0.5, 1].map((share) => item(colorOfAge(share),
			(share ? "up to " + seconds(share * (run.seconds || 0)) + " old" : "new")));
	if (flame.colors === "change")
		return [item(colorOfChange(1), "more than before"),
			item(colorOfChange(-1), "less than before"), item(colors.unknown, "as before")];
	return [make("span", {}, "a colour for each module")];
}

function flameChoices(flame, changed) {
	const byColor = [isDiff ? ["change", "change"] : null,
		!isDiff && hasVerdicts ? ["verdict", isSampled ? "what becomes of it" : "verdict"] : null,
		!isDiff && !isScan ? ["age", "age of the oldest"] : null, ["module", "module"]].filter(Boolean);
	const use = (work) => (value) => {
		work(value);
		changed();
	};

	return [
		choice("width", "flame-metric", METRICS.map((m) => [m.id, m.text]), use((id) => {
			flame.metric = METRICS.find((m) => m.id === id);
			flame.use();
		})),
		choice("from", "flame-order", [[CALLERS_FIRST, "callers"], [SITES_FIRST, "allocation sites"]],
			use((order) => {
				flame.order = order;
				flame.use();
			})),
		choice("colour", "flame-colors", byColor, use((by) => {
			flame.colors = by;
			flame.useColors();
		})),
		button("upside down", { id: "flame-flip", "aria-pressed": "false",
			title: "draw what calls below what is called, or above it" }, (event) => {
			flame.flipped = !flame.flipped;
			event.target.setAttribute("aria-pressed", flame.flipped);
			flame.layout();
			flame.scroller.scrollTop = flame.flipped ? flame.scroller.scrollHeight : 0;
		}),
	];
}

function putFlame() {
	if (!METRICS.length)
		return;
	const canvas = make("canvas", { id: "flame-canvas", tabindex: "0", role: "application",
		"aria-roledescription": "flame graph",
		"aria-label": "flame graph", "aria-describedby": "flame-help flame-status" });
	const sizer = make("div.sizer");
	const scroller = make("div.scroller", { id: "flame-scroller" }, canvas, sizer);
	const status = make("output.status", { id: "flame-status", "aria-live": "polite" });
	const search = make("input", { id: "flame-search", type: "search",
		"aria-label": "search the flame graph", placeholder: "function, module or class  ( / )" });
	const share = make("output", { id: "flame-share" });
	const legend = make("div.legend", { id: "flame-legend" });
	const bar = make("div.controls");
	const it = section("flame", rows.length || !refRows.length ? "Where it is allocated" : "Where references are acquired", bar, legend, scroller, status);

	flame.it = new Flame(canvas, scroller, sizer);
	const changed = () => {
		legend.replaceChildren(...flameLegend(flame.it));
		flame.it.onchange();
		status.textContent = flame.it.describe(flame.it.at);
	};
	const reset = () => {
		search.value = "";
		flame.it.search("");
		flame.it.zoom(0);
		flame.filter?.(null);
		status.textContent = flame.it.describe(0);
	};
	const tell = () => {
		const all = flame.it.sums[flame.it.zoomed];

		share.textContent = flame.it.found ? percent(flame.it.matched(), all) + " matched" : "";
	};

	flame.it.onchange = tell;
	bar.append(...flameChoices(flame.it, changed), make("span.search", {}, search, share),
		button("reset", { id: "flame-reset", title: "no search, no zoom, all groups in the table" }, reset),
		button("only these in the table", { id: "flame-groups",
			title: "the table below has only the groups of the box that the graph is zoomed to; reset shows all" }, () => flame.filter?.(flame.it)));
	it.append(make("p.help", { id: "flame-help" },
		"Click or Enter: zoom. Arrows: go to callers, called functions and neighbours. " +
		"Backspace: out by one. Escape: all again. /: search."));
	search.addEventListener("input", () => whenPrepared(() => flame.it.search(search.value)));
	search.addEventListener("keydown", (event) => event.key === "Escape" && reset());
	canvas.addEventListener("keydown", flameKeys(flame.it, status, reset));
	for (const name of ["focus", "blur"])
		canvas.addEventListener(name, flame.it.redraw);
	scroller.addEventListener("scroll", flame.it.redraw);
	flamePointer(flame.it, status);
	new ResizeObserver(() => flame.it.layout()).observe(scroller);
	onColors(() => {
		flame.it.draw();	// at once: what is printed is what is drawn now
		changed();
	});
	changed();
}
