// Ends workers while their heaps are being marked, once the first file given exists, and makes the second one when that is done. Ends when
// its standard input is closed.
const fs = require("node:fs");
const { PerformanceObserver } = require("node:perf_hooks");
const { Worker, isMainThread, parentPort } = require("node:worker_threads");

const INCREMENTAL = 8; // performance.constants.NODE_PERFORMANCE_GC_INCREMENTAL: marking begins

async function end() {
  for (let i = 0; i < 3; i++) {
    const worker = new Worker(__filename, { resourceLimits: { maxOldGenerationSizeMb: 1000 } });
    await new Promise((resolve) => worker.once("message", resolve));
    await worker.terminate();
  }
  fs.writeFileSync(process.argv[3], "");
}

function grow() {
  const live = [];
  new PerformanceObserver((list) => {
    // The last of them: marking goes on.
    const large = live.length > 600000; // it takes a while
    if (large && list.getEntries().at(-1).detail.kind === INCREMENTAL) parentPort.postMessage("marking");
  }).observe({ entryTypes: ["gc"] });
  setInterval(() => {
    for (let i = 0; i < 20000; i++) live.push({ at: live.length, values: [i, i + 1] });
  }, 1);
}

if (isMainThread) {
  const waiting = setInterval(() => {
    if (!fs.existsSync(process.argv[2])) return;
    clearInterval(waiting);
    end();
  }, 50);
  process.stdin.on("end", () => process.exit(0)).resume();
  console.log("ready");
} else grow();
