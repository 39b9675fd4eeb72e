// The HTTP service of the labs on Node; its options are those of collector/cmd/jitterscope-service.
"use strict";

const { createHash } = require("node:crypto");
const { createServer } = require("node:http");

const given = new Map(process.argv.slice(2).map((argument) => argument.split("=", 2)));
const number = (name) => Number(given.get(name) ?? 0);
const [address, port] = given.get("--listen").split(":");
const [objects, replaced, hashedKib] = [number("--objects"), number("--replaced"), number("--hashed-kib")];
const [slowEvery, slowMs, answerBytes] = [number("--slow-every"), number("--slow-ms"), number("--answer-bytes")];

// About 128 bytes each on V8's own heap, where a Buffer would not be.
const object = (at) => ({ at, text: "", a: at, b: at, c: at, d: at, e: at, f: at, next: [at, at, at] });
const table = Array.from({ length: objects }, (_, at) => object(at));
let served = 0;

const block = Buffer.alloc(1024);

// One digest for all: each is a buffer of its own, and thousands of them make a young collection long.
function hash(kib) {
  const hashed = createHash("sha256");
  for (let i = 0; i < kib; i++) hashed.update(block);
  hashed.digest();
}

const server = createServer((_request, response) => {
  served += 1;
  for (let i = 0; i < replaced; i++) table[(served * replaced + i) % objects] = object(served);
  hash(hashedKib);
  const send = () => {
    response.setHeader("Content-Length", answerBytes);
    response.end("x".repeat(answerBytes));
  };
  if (slowEvery > 0 && served % slowEvery === 0) setTimeout(send, slowMs);
  else send();
});
server.keepAliveTimeout = 0; // clients keep their connections
server.listen(Number(port), address, 4096);
