// An HTTP service on Node that makes a report for one of so many requests: in its event loop, or in a worker thread.
"use strict";

const { createServer } = require("node:http");
const { Worker, isMainThread, parentPort } = require("node:worker_threads");

// As a service does that reads rows, changes them and writes them as JSON.
function report(rows) {
  const all = Array.from({ length: rows }, (_, id) => ({ id, name: `item ${id}`, price: id * 1.5, tags: ["new", "sale"] }));
  const read = JSON.parse(JSON.stringify(all));
  return JSON.stringify(read.filter((one) => one.price > 1)).length;
}

function serve() {
  const given = new Map(process.argv.slice(2).map((argument) => argument.split("=", 2)));
  const [address, port] = given.get("--listen").split(":");
  const [every, rows] = [Number(given.get("--report-every")), Number(given.get("--report-rows"))];
  const waiting = [];
  let worker = null;
  const moveOff = () => {
    worker ??= new Worker(__filename).on("message", () => waiting.shift()());
  };
  if (given.get("--off-loop") === "1") moveOff();
  process.on("SIGUSR2", moveOff); // as a release that does so: connections stay
  let served = 0;
  const server = createServer((_request, response) => {
    served += 1;
    const send = () => {
      response.setHeader("Content-Length", 2_000);
      response.end("x".repeat(2_000));
    };
    if (every === 0 || served % every !== 0) return send();
    if (worker === null) {
      report(rows);
      return send();
    }
    waiting.push(send);
    worker.postMessage(rows);
  });
  server.keepAliveTimeout = 0; // clients keep their connections
  server.listen(Number(port), address, 4096);
}

if (isMainThread) serve();
else parentPort.on("message", (rows) => parentPort.postMessage(report(rows)));
