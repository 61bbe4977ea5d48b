// node:http with a timer per stream.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { HEADERS, readPort, readQuery } from "./common.mjs";
import { writeStream } from "./node_stream.mjs";

createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  if (url.pathname === "/health") {
    response.writeHead(200, { "Content-Type": "application/json" }).end(
      '{"status":"ok"}',
    );
  } else if (url.pathname === "/stream") {
    response.writeHead(200, { ...HEADERS, "X-Request-Id": randomUUID() });
    response.flushHeaders();
    writeStream(response, readQuery((name) => url.searchParams.get(name)));
  } else {
    response.writeHead(404).end();
  }
}).listen(readPort(), "127.0.0.1");
