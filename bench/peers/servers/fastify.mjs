// fastify: a Readable made from an async generator is sent as the reply, which brings backpressure and, when
// the client leaves, the end of the generator.
import fastify from "fastify";
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  DONE,
  frame,
  HEADERS,
  payload,
  readPort,
  readQuery,
} from "./common.mjs";

const app = fastify();

app.get("/health", () => ({ status: "ok" }));

app.get("/stream", (request, reply) => {
  const query = readQuery((name) => request.query[name]);
  reply.headers({ ...HEADERS, "X-Request-Id": randomUUID() });
  return reply.send(Readable.from(events(query)));
});

async function* events({ tokens, ttftMs, itlMs }) {
  if (ttftMs > 0) await sleep(ttftMs);
  for (let index = 0; index < tokens; index++) {
    if (index > 0 && itlMs > 0) await sleep(itlMs);
    yield frame(payload(index));
  }
  yield frame(DONE);
}

await app.listen({ port: readPort(), host: "127.0.0.1" });
