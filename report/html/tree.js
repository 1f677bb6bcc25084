// SPDX-License-Identifier: MIT
// tree: the stacks of rows as a tree. Nodes are numbers, in arrays: a parent's is lower than those of its
// children, so sums and marks are one pass without recursion. Node 0 is the root.

const CALLERS_FIRST = "callers", SITES_FIRST = "sites";

class Tree {
	constructor(rows, order) {
		const most = rows.reduce((sum, row) => sum + row.stack.length + 3, 1);

		this.rows = rows;
		this.order = order;
		this.n = 1;
		this.name = new Int32Array(most).fill(-1);
		this.parent = new Int32Array(most).fill(-1);
		this.depth = new Uint32Array(most);
		this.leaf = new Int32Array(rows.length);
		// parent and name -> node; 0: free
		this.table = new Int32Array(2 ** Math.ceil(Math.log2(2 * most)));
		rows.forEach((row, i) => this.leaf[i] = this.add(row));
		this.table = null;
		for (const member of ["name", "parent", "depth"])
			this[member] = this[member].subarray(0, this.n);
		this.link();
	}

	child(parent, name) {
		const { table } = this;
		let slot = Math.imul(parent, 0x9e3779b1) ^ Math.imul(name, 0x85ebca6b);

		slot = (slot ^ slot >>> 15) & table.length - 1;
		for (; table[slot]; slot = slot + 1 & table.length - 1)
			if (this.parent[table[slot]] === parent && this.name[table[slot]] === name)
				return table[slot];
		table[slot] = this.n;
		this.name[this.n] = name;
		this.parent[this.n] = parent;
		this.depth[this.n] = this.depth[parent] + 1;
		return this.n++;
	}

	add(row) {
		const first = Math.min(row.wrappers, row.stack.length);
		let node = 0;

		if (families.size > 1)
			node = this.child(node, addName("family " + row.family, visible(row.family), ""));
		if (row.label !== null)
			return this.addClass(row, node);
		if (this.order === SITES_FIRST) {
			for (let i = first; i < row.stack.length; i++)
				node = this.child(node, nameOfFrame[row.stack[i]]);
			return node;
		}
		if (row.end !== "whole" && row.stack.length)
			node = this.child(node, addName("end " + row.end, "(callers not known)", ""));
		for (let i = row.stack.length - 1; i >= first; i--)
			node = this.child(node, nameOfFrame[row.stack[i]]);
		return node;
	}

	// Blocks of a scan have no stacks: a class in its module, or a size.
	addClass(row, node) {
		const module = row.group.class_module, text = visible(row.label);

		if (row.group.class !== null)
			node = this.child(node, addName("module " + module,
				module ? base(visible(module)) : "C++ classes", ""));
		else
			node = this.child(node, addName("sizes", "by size", ""));
		return this.child(node, addName("label " + row.label, text, module ? visible(module) : ""));
	}

	link() {
		const n = this.name.length;

		this.first = new Int32Array(n).fill(-1);
		this.next = new Int32Array(n).fill(-1);
		for (let node = n - 1; node > 0; node--) {
			this.next[node] = this.first[this.parent[node]];
			this.first[this.parent[node]] = node;
		}
	}

	// The sum of a value of the rows below each node.
	sum(value) {
		const sums = new Float64Array(this.name.length);

		for (let i = 0; i < this.rows.length; i++)
			sums[this.leaf[i]] += value(this.rows[i]);
		for (let node = sums.length - 1; node > 0; node--)
			sums[this.parent[node]] += sums[node];
		return sums;
	}

	// The largest value of a row below each node.
	largest(value) {
		const all = new Float64Array(this.name.length);

		for (let i = 0; i < this.rows.length; i++)
			all[this.leaf[i]] = Math.max(all[this.leaf[i]], value(this.rows[i]));
		for (let node = all.length - 1; node > 0; node--)
			all[this.parent[node]] = Math.max(all[this.parent[node]], all[node]);
		return all;
	}

	// Those of @node with a part of @sums, the largest first.
	childrenBy(sums, node) {
		const list = [];

		for (let c = this.first[node]; c >= 0; c = this.next[c])
			if (sums[c] > 0)
				list.push(c);
		return list.sort((a, b) => sums[b] - sums[a] || a - b);
	}

	// How much of @sums below @top is of nodes that @found marks, each part once.
	shareOf(found, sums, top) {
		const covered = new Uint8Array(this.name.length);
		let matched = 0;

		for (let node = top; node < covered.length; node++) {
			const inside = node === top || covered[this.parent[node]] & 1;

			if (!inside)
				continue;
			const hit = this.name[node] >= 0 && found[this.name[node]];
			const below = node !== top && covered[this.parent[node]] & 2;
			covered[node] = 1 | (hit || below ? 2 : 0);
			if (hit && !below)
				matched += sums[node];
		}
		return matched;
	}

	// A Uint8Array by row of the table: 1 if its stack runs through @node.
	rowsBelow(node) {
		const below = new Uint8Array(this.name.length), found = new Uint8Array(rows.length);

		below[node] = 1;
		for (let i = node + 1; i < below.length; i++)
			below[i] = below[this.parent[i]];
		this.rows.forEach((part, i) => found[part.row] |= below[this.leaf[i]]);
		return found;
	}

	text(node) {
		return node ? nameText(this.name[node]) : "all";
	}

	short(node) {
		return node ? nameShort(this.name[node]) : "all";
	}

	module(node) {
		return node ? nameModule(this.name[node]) : "";
	}
}

const trees = new Map();

function treeOf(list, order) {
	const of = trees.get(list) ?? {};

	trees.set(list, of);
	return of[order] ??= new Tree(list, order);
}
