import { assertEquals, assertGreaterOrEqual, assertLess } from "@std/assert";
import type { Handler } from "../../lib/http/server/connection.ts";
import { until } from "../helpers/until.ts";
import { serving, settle, statuses } from "./serving.ts";

const NEXT = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";
const POST = "POST / HTTP/1.1\r\nHost: a\r\n";
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`;
const chunk = (size: number) => `${size.toString(16)}\r\n${"x".repeat(size)}\r\n`;

/** Ways in which a handler answers before it has read all of a body, whatever has come of it. */
const HANDLERS: Record<string, [status: number, handler: Handler]> = {
  "is not looked at": [404, () => new Response("no", { status: 404 })],
  "has become too long": [413, async ({ body }) => {
    const reader = body!.getReader();
    await reader.read().catch(() => {});
    await reader.cancel().catch(() => {});
    return new Response("no", { status: 413 });
  }],
  "is let go of": [400, async ({ body }) => {
    const reader = body!.getReader();
    await reader.read().catch(() => {});
    reader.releaseLock();
    return new Response("no", { status: 400 });
  }],
};

/** What has come by then of a body whose end nobody can see. */
const ENDLESS: Record<string, string> = {
  "chunks that go on": CHUNKED + chunk(10),
  "chunks that go on and are many": CHUNKED + chunk(1000).repeat(400),
  "chunks that are too many, though their end has come": `${CHUNKED}${chunk(1000).repeat(400)}0\r\n\r\n`,
  "a chunk larger than what is passed over": `${CHUNKED}fffff\r\nx`,
  "chunks, the second of which is none": `${CHUNKED}${chunk(10)}zz\r\n`,
  "a length larger than what is passed over": `${POST}Content-Length: 10000000\r\n\r\nx`,
};

for (const [what, request] of Object.entries(ENDLESS)) {
  for (const [how, [status, handler]] of Object.entries(HANDLERS)) {
    Deno.test(`an answer to ${what}, of which the rest ${how}, says that the connection ends, and it ends soon`, async () => {
      const { socket, ended, errors, clock, connection } = serving(handler);
      socket.send(request);
      await until("an answer", () => socket.text !== "");
      await settle();
      assertEquals([statuses(socket), socket.text.includes("connection: close\r\n")], [[status], true]);
      assertEquals([socket.shut, errors], [true, []]);
      // What is sent after that is no request.
      socket.send(NEXT);
      connection.expire(clock.now += 2000);
      await ended;
      assertEquals([statuses(socket), socket.closed], [[status], true]);
    });
  }
}

/** Bodies that are whole, or of which little is known to be missing: in pieces as they arrive. */
const WHOLE: Record<string, string[]> = {
  "a length": [`${POST}Content-Length: 10\r\n\r\n${"x".repeat(10)}`],
  "a length, behind its head": [`${POST}Content-Length: 10\r\n\r\nx`, "x".repeat(9)],
  "chunks": [CHUNKED + chunk(10) + chunk(20) + "0\r\n\r\n"],
  "chunks, more than one read takes": [CHUNKED + chunk(1000).repeat(100) + "0\r\n\r\n"],
  "chunks, in pieces": [CHUNKED + chunk(10), chunk(10) + "0\r\n", "\r\n"],
};

for (const [what, pieces] of Object.entries(WHOLE)) {
  for (const [how, [status, handler]] of Object.entries(HANDLERS)) {
    Deno.test(`behind a small body with ${what}, of which the rest ${how}, the next request is answered`, async () => {
      const { socket, ended } = serving((request) =>
        request.url.endsWith("/next") ? new Response() : handler(request)
      );
      for (const piece of pieces) {
        socket.send(piece);
        // Later than all that needs no waiting.
        await new Promise((resolve) => setTimeout(resolve));
      }
      socket.send(NEXT);
      await until("both answers", () => statuses(socket).length === 2);
      assertEquals([statuses(socket), socket.text.includes("connection: close")], [[status, 200], false]);
      socket.leave();
      await ended;
    });
  }
}

Deno.test("408 says that the rest is not waited for: the connection ends, however little is missing", async () => {
  for (const head of [`${POST}Content-Length: 10\r\n\r\n`, CHUNKED]) {
    const { socket, ended } = serving(async ({ body }) => {
      const reader = body!.getReader();
      const read = reader.read().catch(() => {});
      reader.releaseLock();
      await read;
      return new Response("late", { status: 408 });
    });
    socket.send(head);
    await settle();
    assertEquals([statuses(socket), socket.text.includes("connection: close\r\n"), socket.shut], [
      [408],
      true,
      true,
    ]);
    socket.leave();
    await ended;
  }
});

Deno.test("408 to a request that is there whole keeps its connection", async () => {
  for (const request of [NEXT, `${POST}Content-Length: 1\r\n\r\nx`, `${CHUNKED}1\r\nx\r\n0\r\n\r\n`]) {
    const { socket, ended } = serving(async (request) => {
      await request.text();
      return new Response("late", { status: 408 });
    });
    socket.send(request + NEXT);
    await settle();
    assertEquals([statuses(socket), socket.text.includes("connection: close")], [[408, 408], false]);
    socket.leave();
    await ended;
  }
});

Deno.test("a body in chunks that is answered with is not waited for, and its connection goes on", async () => {
  const answers: Handler[] = [
    ({ body }) => new Response(body),
    ({ body }) => new Response(body?.pipeThrough(new TransformStream())),
  ];
  for (const handler of answers) {
    const { socket, ended } = serving(handler);
    socket.send(CHUNKED + chunk(3));
    await until("the first chunk", () => socket.text.endsWith(`\r\n\r\n${chunk(3)}`));
    socket.send(chunk(4) + "0\r\n\r\n" + NEXT);
    await until("both answers", () => statuses(socket).length === 2);
    assertEquals([statuses(socket), socket.text.includes("connection: close")], [[200, 200], false]);
    socket.leave();
    await ended;
  }
});

Deno.test("an answer waits a moment for the end of chunks that nobody reads, and no longer", async () => {
  const { socket, ended } = serving(() => new Response("no", { status: 404 }));
  const began = performance.now();
  socket.send(CHUNKED);
  await settle();
  assertEquals(socket.text, "");
  const drip = setInterval(() => socket.send(chunk(1)), 5);
  await until("an answer", () => socket.text !== "", { everyMs: 1 });
  clearInterval(drip);
  assertGreaterOrEqual(performance.now() - began, 45);
  assertLess(performance.now() - began, 500);
  socket.leave();
  await ended;
});

Deno.test("a client that leaves while its chunks are waited for stops the answer", async () => {
  let cancelled = 0;
  const { socket, ended } = serving(() =>
    new Response(new ReadableStream({ cancel: () => void cancelled++ }, { highWaterMark: 0 }))
  );
  socket.send(CHUNKED);
  await settle();
  socket.leave();
  await ended;
  await settle();
  assertEquals([cancelled, socket.closed], [1, true]);
});

Deno.test("who begins to read a body in chunks only with the answer is told that it came too late", async () => {
  const { socket, ended } = serving(({ body }) => {
    const late = async (controller: ReadableStreamDefaultController) => {
      const read = await body!.getReader().read().then(() => "read", ({ message }) => message);
      controller.enqueue(new TextEncoder().encode(read));
      controller.close();
    };
    return new Response(new ReadableStream({ pull: late }, { highWaterMark: 0 }));
  });
  socket.send(`${CHUNKED}1\r\nx\r\n0\r\n\r\n`);
  await settle();
  assertEquals(socket.text.split("\r\n\r\n")[1], "The request's body was not read before it was answered.");
  socket.leave();
  await ended;
});

Deno.test("broken chunks stay broken: read again they could make a body, and what follows a request", async () => {
  const answers: Handler[] = [
    async (request) => new Response(await request.text().catch(() => "broken")),
    // Answered while it is read, and the reader says nothing of what broke it.
    ({ body }) => {
      const reading = new Response(body).text().catch(() => "broken");
      const pull = async (controller: ReadableStreamDefaultController) => {
        controller.enqueue(new TextEncoder().encode(await reading));
        controller.close();
      };
      return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
    },
  ];
  for (const handler of answers) {
    const { socket, ended } = serving(handler);
    socket.send(`${CHUNKED}a\r\nabcde`);
    await settle();
    // The chunk's last five bytes, and no line end behind it.
    socket.send(`\r\n0\r\nX: y\r\n\r\n${NEXT}`);
    await settle();
    assertEquals([statuses(socket), socket.text.includes("broken"), socket.shut], [[200], true, true]);
    socket.leave();
    await ended;
  }
});

Deno.test("requests that did not fit and are gone end the connection, which the answer says", async () => {
  let answer!: (response: Response) => void;
  const { socket, connection, ended } = serving(() => new Promise((resolve) => answer = resolve));
  socket.send(NEXT + NEXT.repeat(20_000));
  await until("all to be read", () => socket.unread === 0);
  answer(new Response("ok"));
  await settle();
  assertEquals([statuses(socket), socket.text.includes("connection: close\r\n")], [[200], true]);
  connection.drain();
  socket.leave();
  await ended;
});
