// SPDX-License-Identifier: MIT
// Of doc/recipes.md: every tenth buffer is kept.
const kept = [];
let n = 0;

function receive() {
	const buffer = Buffer.allocUnsafeSlow(40000);
	if (n++ % 10 === 0)
		kept.push(buffer);
}

console.log(`ready ${process.pid}`);
setInterval(() => {
	for (let i = 0; i < 20; i++)
		receive();
}, 20);
