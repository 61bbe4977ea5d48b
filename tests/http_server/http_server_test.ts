import { assert, assertEquals } from "@std/assert";
import { HttpServer } from "../../lib/http/server/http_server.ts";
import type { Failure, Handler } from "../../lib/http/server/connection.ts";
import type { Socket } from "../../lib/http/socket.ts";
import { RawClient } from "../helpers/sockets.ts";
import { MemorySocket } from "./memory_socket.ts";
import { settle } from "./serving.ts";
import { until } from "../helpers/until.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

function start(handler: Handler, options: { idleMs?: number; headMs?: number; sweepMs?: number } = {}) {
  const door = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const errors: { error: unknown; at: Failure }[] = [];
  const server = new HttpServer(door, {
    handler,
    onError: (error, at) => errors.push({ error, at }),
    ...options,
  });
  return {
    port: door.addr.port,
    errors,
    server,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("fetch speaks to it: a body both ways, over one connection", async () => {
  await using serving = start(async (request) => new Response(await request.text()));
  for (const size of [0, 1, 1000, 300_000]) {
    const body = "é".repeat(size);
    const response = await fetch(`http://127.0.0.1:${serving.port}/`, { method: "POST", body });
    assertEquals([response.status, await response.text()], [200, body]);
  }
  assertEquals(serving.errors, []);
});

Deno.test("a request's body and its response flow at the same time", async () => {
  await using serving = start((request) => new Response(request.body));
  using client = await RawClient.open(serving.port);
  client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (const text of ["one", "two", "three"]) {
    client.send(`${text.length}\r\n${text}\r\n`);
    await until(text, () => client.body.text.endsWith(text));
  }
  client.send("0\r\n\r\n");
  await until("the end", () => client.body.terminated);
});

for (const how of ["fin", "reset"] as const) {
  Deno.test(`a client that leaves by ${how} is noticed before the handler has returned, also of a POST in two parts`, async () => {
    const asked = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    await using serving = start(async (request) => {
      await request.text();
      request.signal.addEventListener("abort", () => left.resolve());
      asked.resolve();
      await left.promise;
      return new Response();
    });
    using client = await RawClient.open(serving.port);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n");
    await new Promise((resolve) => setTimeout(resolve, 5));
    client.send("ab");
    await asked.promise;
    client[how]();
    await left.promise;
    assertEquals(serving.errors, []);
  });
}

Deno.test("connections that fail harm no other", async () => {
  await using serving = start((request) => {
    if (request.url.endsWith("/fail")) throw new Error("wanted");
    return new Response(new ReadableStream({ cancel: () => Promise.reject(new Error("wanted")) }));
  });
  using steady = await RawClient.open(serving.port);
  steady.send(GET);
  await until("a head", () => steady.head !== "");
  const others = [
    "",
    "x",
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /fail HTTP/1.1\r\nHost: a\r\n\r\n",
    "\0\n",
  ];
  for (let i = 0; i < 50; i++) {
    using client = await RawClient.open(serving.port);
    client.send(others[i % others.length]);
    if (i % 2 === 0) client.reset();
  }
  using late = await RawClient.open(serving.port);
  late.send(GET);
  await until("a head", () => late.head !== "");
  assertEquals([steady.ended, late.status], [false, 200]);
  assert(serving.errors.every(({ at }) => at === "handler"));
});

Deno.test("one sweep closes idle connections and those whose head never ends", async () => {
  await using serving = start(() => new Response(), { idleMs: 30, headMs: 20, sweepMs: 5 });
  using idle = await RawClient.open(serving.port);
  using slow = await RawClient.open(serving.port);
  slow.send("GET / HT");
  await idle.untilEnded();
  await slow.untilEnded();
  assertEquals([idle.text, slow.status], ["", 408]);
});

Deno.test("a shutdown accepts no more, closes the idle, and waits for the response that is running", async () => {
  let finish!: () => void;
  const body = () =>
    new ReadableStream({
      start: (controller) => void (finish = () => controller.close()),
    });
  await using serving = start(() => new Response(body()));
  using idle = await RawClient.open(serving.port);
  using busy = await RawClient.open(serving.port);
  busy.send(GET);
  await until("a head", () => busy.head !== "");
  let down = false;
  const shutdown = serving.server.shutdown().then(() => down = true);
  await idle.untilEnded();
  assertEquals([idle.text, down, busy.ended], ["", false, false]);
  const refused = await RawClient.open(serving.port).then(() => "accepted", () => "refused");
  assertEquals(refused, "refused");
  finish();
  await shutdown;
  await busy.untilEnded();
  assertEquals(busy.body.terminated, true);
});

Deno.test("accepts that fail are told of once in a row and tried again; one whose client has left is not even told of", async () => {
  const gone = Object.assign(new Error("gone"), { name: "NotConnected" });
  const full = new Error("too many open files");
  const socket = new MemorySocket();
  socket.leave();
  const results: (Error | IteratorResult<Socket>)[] = [gone, gone, full, full, { value: socket }, full];
  const errors: unknown[] = [];
  const end = Promise.withResolvers<IteratorResult<Socket>>();
  const server = new HttpServer({
    close: () => end.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const result = results.shift() ?? end.promise;
        return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
      },
    }),
  }, {
    handler: () => new Response(),
    onError: (error, at) => errors.push([error, at]),
  });
  await until("all failures", () => results.length === 0);
  await server.shutdown();
  assertEquals(errors, [[full, "accept"], [full, "accept"]]);
});

Deno.test("for want of descriptors the connections that are idle the longest make room, and no other does", async () => {
  let time = 0;
  const full = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  const answer = Promise.withResolvers<void>();
  const many = (n: number, sent = "") =>
    Array.from({ length: n }, () => {
      const socket = new MemorySocket();
      socket.send(sent);
      return socket;
    });
  const [old, busy, begun, young, last] = [
    many(70),
    many(3, GET),
    many(3, "GET / HT"),
    many(3),
    many(1, GET),
  ];
  // One that is older, but has just had its answer, and one that has waited longest of all.
  const [served, longest] = [new MemorySocket(), new MemorySocket()];
  const later = (ms: number) => () => void (time = ms);
  const results: (Error | Socket | (() => void))[] = [
    ...[served, longest, ...old.slice(0, 35), later(500), ...old.slice(35), ...busy, ...begun, later(1500)],
    ...[() => served.send("GET /now HTTP/1.1\r\nHost: a\r\n\r\n"), ...young, full, ...last],
  ];
  const end = Promise.withResolvers<IteratorResult<Socket>>();
  const server = new HttpServer({
    close: () => end.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]: () => ({
      next: async (): Promise<IteratorResult<Socket>> => {
        for (;;) {
          const result = results.shift();
          await settle();
          if (result === undefined) return await end.promise;
          if (result instanceof Error) throw result;
          if (typeof result === "object") return { done: false, value: result };
          result();
        }
      },
    }),
  }, {
    now: () => time,
    handler: (request) =>
      request.url.endsWith("/now") ? new Response("now") : answer.promise.then(() => new Response("late")),
    onError: () => {},
  });
  await until("the last one accepted", () => results.length === 0);
  assertEquals(served.text.endsWith("now"), true);
  const closed = (sockets: MemorySocket[]) => sockets.map((socket) => socket.closed);
  assertEquals(closed([longest, served, ...busy, ...begun, ...young]), [true, ...Array(10).fill(false)]);
  assertEquals(closed(old), old.map((_, i) => i < 63));
  answer.resolve();
  await until("all answers", () => [...busy, ...last].every(({ text }) => text.endsWith("late")));
  await server.shutdown();
});
