// SPDX-License-Identifier: MIT
// theme: the colours of the style sheet, for what is drawn on a canvas. They change with the system's colour
// scheme, and for paper.

const scheme = matchMedia("(prefers-color-scheme: dark)");
let printing = false;
let colors = {};

function readColors() {
	const style = getComputedStyle(document.documentElement);
	const names = [...VERDICTS, "ink", "page", "line", "match", "focus", "more", "less", "accent"];

	colors = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
	colors.dark = scheme.matches && !printing;
}

function onColors(redraw) {
	const again = () => {
		readColors();
		redraw();
	};

	scheme.addEventListener("change", again);
	addEventListener("beforeprint", () => {
		printing = true;
		document.documentElement.classList.add("paper");
		again();
	});
	addEventListener("afterprint", () => {
		printing = false;
		document.documentElement.classList.remove("paper");
		again();
	});
}

// A colour for a name: the same one each time.
function colorOf(text) {
	let h = 0;

	for (let i = 0; i < text.length; i++)
		h = (h * 31 + text.charCodeAt(i)) >>> 0;
	return colors.dark ? `hsl(${h % 360} 35% 36%)` : `hsl(${h % 360} 50% 78%)`;
}

// From blue (0) to red (1), and between two colours of the style sheet for -1 (less) to 1 (more).
function colorOfAge(share) {
	const hue = 220 - 200 * Math.min(1, Math.max(0, share));

	return colors.dark ? `hsl(${hue} 40% 36%)` : `hsl(${hue} 60% 76%)`;
}

function colorOfChange(share) {
	const strength = Math.round(15 + 85 * Math.min(1, Math.abs(share)));

	if (!share)
		return colors.unknown;
	return `color-mix(in srgb, ${share > 0 ? colors.more : colors.less} ${strength}%, ${colors.page})`;
}
