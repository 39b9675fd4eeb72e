// Keeps some live objects, replaces them all the time, writes each collection to the file given: kind, begin and end in microseconds
// since the Unix epoch. Ends when its standard input is closed.
const fs = require("node:fs");
const { PerformanceObserver, performance } = require("node:perf_hooks");

const log = fs.openSync(process.argv[2], "w");
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const begin = (performance.timeOrigin + entry.startTime) * 1000;
    fs.writeSync(log, `${entry.detail.kind} ${Math.round(begin)} ${Math.round(begin + entry.duration * 1000)}\n`);
  }
}).observe({ entryTypes: ["gc"] });

const live = new Array(150000);
let at = 0;
setInterval(() => {
  for (let i = 0; i < 4000; i++) {
    live[at] = { name: `object ${at}`, values: [at, at + 1, at + 2] };
    at = (at + 7919) % live.length;
  }
}, 5);
process.stdin.on("end", () => process.exit(0)).resume();
console.log("ready");
