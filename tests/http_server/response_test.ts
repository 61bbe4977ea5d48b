import { assert, assertEquals, assertMatch } from "@std/assert";
import { dateless, serving, settle, statuses } from "./serving.ts";
import type { Handler } from "../../lib/http/server/connection.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const encode = (text: string) => new TextEncoder().encode(text);

/** A body that says what the test tells it. */
function told() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const cancelled: unknown[] = [];
  const pulls = { count: 0 };
  const stream = new ReadableStream<Uint8Array>({
    start: (it) => void (controller = it),
    pull: () => void pulls.count++,
    cancel: (reason) => void cancelled.push(reason),
  }, { highWaterMark: 0 });
  return { stream, cancelled, pulls, controller };
}

async function responseTo(handler: Handler, text = GET) {
  const { socket, ended, errors, connection } = serving(handler);
  socket.send(text);
  await settle();
  const { closed } = socket;
  connection.drain();
  socket.leave();
  await ended;
  return { text: dateless(socket.text), closed, errors, writes: socket.writes.length };
}

Deno.test("a body that is there whole goes out in one write, with its length and the date", async () => {
  const { socket, ended } = serving(() => new Response("héllo"));
  socket.send(GET);
  await settle();
  assertEquals(socket.writes.length, 1);
  assertMatch(socket.text, /\r\ndate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/);
  const [head, body] = dateless(socket.text).split("\r\n\r\n");
  assertEquals(body, "héllo");
  assertEquals(head, "HTTP/1.1 200 OK\r\ncontent-type: text/plain;charset=UTF-8\r\ncontent-length: 6");
  socket.leave();
  await ended;
});

Deno.test("a header's characters are bytes, also those above ASCII, with a body and without", async () => {
  for (const body of ["", "héllo"]) {
    const { socket, ended } = serving(() => new Response(body, { headers: { "X-A": "\xe9\xff\x80" } }));
    socket.send(GET);
    await settle();
    const text = String.fromCharCode(...socket.writes.flatMap((bytes) => [...bytes]));
    assertEquals(/x-a: (.*)\r\n/.exec(text)?.[1], "\xe9\xff\x80");
    assertEquals(text.split("\r\n\r\n")[1], String.fromCharCode(...encode(body)));
    socket.leave();
    await ended;
  }
});

const BODILESS: Record<string, [handler: Handler, request: string, response: string]> = {
  "an answer without a body": [() => new Response(null), GET, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"],
  "204": [() => new Response(null, { status: 204 }), GET, "HTTP/1.1 204 No Content\r\n\r\n"],
  "204 with a length": [
    () => new Response(null, { status: 204, headers: { "Content-Length": "5" } }),
    GET,
    "HTTP/1.1 204 No Content\r\n\r\n",
  ],
  "304": [() => new Response(null, { status: 304 }), GET, "HTTP/1.1 304 Not Modified\r\n\r\n"],
  "HEAD": [
    () => new Response(told().stream, { headers: { "Content-Length": "5" } }),
    "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
  ],
};

for (const [name, [handler, request, response]] of Object.entries(BODILESS)) {
  Deno.test(`${name}: the head alone, and the next request is answered`, async () => {
    const { text } = await responseTo(handler, request + request);
    assertEquals(text, response + response);
  });
}

Deno.test("the body that a HEAD does not get is cancelled", async () => {
  const body = told();
  await responseTo(() => new Response(body.stream), "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  assertEquals(body.cancelled.length, 1);
});

Deno.test("the date is the time of the answer, to the second", async () => {
  const { now } = Date;
  const { socket, ended } = serving(() => new Response());
  try {
    for (const ms of [1_000, 1_999, 2_000]) {
      Date.now = () => ms;
      socket.send(GET);
      await settle();
    }
    // A refusal has it too.
    Date.now = () => 3_000;
    socket.send("\0");
    await settle();
  } finally {
    Date.now = now;
  }
  const seconds = [...socket.text.matchAll(/date: Thu, 01 Jan 1970 00:00:0(\d) GMT/g)].map(([, second]) =>
    second
  );
  assertEquals([seconds, statuses(socket)], [["1", "1", "2", "3"], [200, 200, 200, 400]]);
  socket.leave();
  await ended;
});

Deno.test("the head of a stream does not wait for its first chunk, and each chunk is one write", async () => {
  const body = told();
  const { socket, ended } = serving(() => new Response(body.stream));
  socket.send(GET);
  await settle();
  assertEquals(dateless(socket.text), "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
  for (
    const [size, digits] of [[1, "1"], [15, "f"], [16, "10"], [512, "200"], [513, "201"], [
      70_000,
      "11170",
    ]] as const
  ) {
    const before = socket.writes.length;
    body.controller.enqueue(encode("x".repeat(size)));
    await settle();
    assertEquals(socket.writes.length, before + 1);
    assertEquals(new TextDecoder().decode(socket.writes.at(-1)), `${digits}\r\n${"x".repeat(size)}\r\n`);
  }
  body.controller.enqueue(new Uint8Array(0));
  await settle();
  assert(!socket.text.includes("\r\n0\r\n"), "an empty chunk would end the body");
  body.controller.close();
  await settle();
  assert(socket.text.endsWith("\r\n0\r\n\r\n"));
  socket.send(GET);
  socket.leave();
  await ended;
});

Deno.test("an event stream goes out in chunks however soon it ends", async () => {
  const headers = { "Content-Type": "text/event-stream; charset=utf-8" };
  const { text } = await responseTo(() => new Response("data: a\n\n", { headers }));
  assert(text.includes("transfer-encoding: chunked\r\n"));
  assert(text.endsWith("\r\n9\r\ndata: a\n\n\r\n0\r\n\r\n"));
});

Deno.test("writes that are taken in part are completed", async () => {
  for (const taken of [1, 2, 3, 7]) {
    const { socket, ended } = serving(() =>
      new Response(
        new ReadableStream({
          async start(controller) {
            await settle();
            for (const text of ["abc", "de"]) controller.enqueue(encode(text));
            controller.close();
          },
        }),
      )
    );
    socket.taken = taken;
    socket.send(GET);
    while (!socket.text.endsWith("0\r\n\r\n")) await settle();
    assert(socket.text.endsWith("\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), socket.text);
    socket.leave();
    await ended;
  }
});

Deno.test("nothing more is read from a body before the socket has taken the last chunk", async () => {
  const body = told();
  const { socket, ended } = serving(() => new Response(body.stream));
  socket.send(GET);
  await settle();
  const go = socket.hold();
  assertEquals(body.pulls.count, 1);
  body.controller.enqueue(encode("a"));
  await settle();
  assertEquals(body.pulls.count, 1);
  go();
  await settle();
  assertEquals(body.pulls.count, 2);
  socket.leave();
  await ended;
});

Deno.test("a body that breaks ends the connection without the last chunk, and is told of once", async () => {
  const body = told();
  const { socket, ended, errors } = serving(() => new Response(body.stream));
  socket.send(GET);
  await settle();
  body.controller.enqueue(encode("a"));
  await settle();
  const error = new Error("broken");
  body.controller.error(error);
  await ended;
  assert(socket.text.endsWith("\r\n\r\n1\r\na\r\n"));
  assertEquals([socket.closed, errors], [true, [{ error, at: "body" }]]);
});

Deno.test("so does one that breaks while the client takes nothing", async () => {
  const body = told();
  const { socket, ended, errors } = serving(() => new Response(body.stream));
  socket.send(GET);
  await settle();
  socket.hold();
  body.controller.enqueue(encode("a"));
  await settle();
  body.controller.error(new Error("stalled"));
  await ended;
  assertEquals([socket.closed, errors.length], [true, 1]);
});

Deno.test("so does an event stream that breaks before its head is taken, and nothing else falls with it", async () => {
  for (const request of [GET, "GET / HTTP/1.0\r\n\r\n"]) {
    const body = told();
    const headers = { "Content-Type": "text/event-stream" };
    const { socket, ended, errors } = serving(() => new Response(body.stream, { headers }));
    socket.hold();
    socket.send(request);
    await settle();
    body.controller.error(new Error("broken"));
    // An unhandled rejection comes with the end of a turn, and would end this process.
    await new Promise((resolve) => setTimeout(resolve));
    await ended;
    assertEquals([socket.text, socket.closed, errors.map(({ at }) => at)], ["", true, ["body"]]);
  }
});

/** A body whose one chunk comes a little later. */
function late(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      await settle();
      controller.enqueue(encode(text));
      controller.close();
    },
  }, { highWaterMark: 0 });
}

Deno.test("a body that is not as long as its header says ends the connection", async () => {
  for (const [length, sent] of [["2", ""], ["4", "abc"]] as const) {
    const { socket, ended, errors } = serving(() =>
      new Response(late("abc"), { headers: { "Content-Length": length } })
    );
    socket.send(GET);
    await ended;
    const wanted = `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n${sent}`;
    assertEquals([dateless(socket.text), errors.map(({ at }) => at)], [wanted, ["body"]]);
  }
  // Of one that is there whole the true length is sent.
  const { text } = await responseTo(() => new Response("abc", { headers: { "Content-Length": "2" } }));
  assert(text.includes("content-length: 3\r\n"));
});

Deno.test("HTTP/1.0 gets a stream without chunks, ended by the connection", async () => {
  const { socket, ended } = serving(() => new Response(late("abc")));
  socket.send("GET / HTTP/1.0\r\n\r\n");
  await ended;
  assertEquals(dateless(socket.text), "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc");
});

Deno.test("the connection ends with the answer where the client says so, or is of HTTP/1.0", async () => {
  const asks = ["Connection: close", "Connection: keep-alive, Close"].map((line) =>
    `HTTP/1.1\r\nHost: a\r\n${line}`
  );
  for (const ask of [...asks, "HTTP/1.0", "HTTP/1.0\r\nConnection: keep-alive"]) {
    const { socket, ended } = serving(() => new Response("a"));
    socket.send(`GET / ${ask}\r\n\r\n${GET}`);
    await settle();
    socket.leave();
    await ended;
    assertEquals([statuses(socket), socket.text.includes("connection: close\r\n")], [[200], true], ask);
  }
});

Deno.test("what a handler says about the connection is not passed on, but its wish to close is heeded", async () => {
  const headers = { "Transfer-Encoding": "gzip", "Connection": "close", "Date": "never", "X-A": "b" };
  const { text, closed } = await responseTo(() => new Response("a", { headers }));
  assert(!/gzip|never/.test(text), text);
  assertEquals([text.includes("connection: close\r\n"), text.includes("x-a: b\r\n"), closed], [
    true,
    true,
    true,
  ]);
});

Deno.test("a handler that fails is 500 without a word, and the connection goes on", async () => {
  const used = new Response("a");
  used.body!.getReader();
  const failing: Handler[] = [
    () => {
      throw new Error("secret");
    },
    () => Promise.reject(new Error("secret")),
    () => undefined as unknown as Response,
    () => used,
    () => Response.error(),
  ];
  for (const handler of failing) {
    const { text, errors } = await responseTo(handler, GET + GET);
    const one = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n";
    assertEquals(text, one + one);
    assertEquals(errors.map(({ at }) => at), ["handler", "handler"]);
  }
});

Deno.test("a body that fails at once is answered with nothing, not with a head", async () => {
  const failing = new ReadableStream({ pull: () => Promise.reject(new Error("no body")) }, {
    highWaterMark: 0,
  });
  const { text, closed, errors } = await responseTo(() => new Response(failing));
  assertEquals([text, closed, errors.map(({ at }) => at)], ["", true, ["body"]]);
});

Deno.test("a write that fails stops the body", async () => {
  const body = told();
  const { socket, ended } = serving(() => new Response(body.stream));
  socket.send(GET);
  await settle();
  socket.shut = true;
  body.controller.enqueue(encode("a"));
  await ended;
  assertEquals(body.cancelled.length, 1);
  assertEquals(statuses(socket), [200]);
});
