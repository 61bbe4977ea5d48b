import { until } from "../helpers/until.ts";
import { assert, assertEquals, assertLess, assertLessOrEqual } from "@std/assert";
import { dateless, serving, settle, statuses } from "./serving.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const post = (length: number, more = "") =>
  `POST / HTTP/1.1\r\nHost: a\r\n${more}Content-Length: ${length}\r\n\r\n`;

Deno.test("a client that leaves aborts the request's signal, while the handler works", async () => {
  const aborted = Promise.withResolvers<string>();
  const { socket, ended, errors } = serving(async ({ signal }) => {
    signal.addEventListener("abort", () => aborted.resolve(signal.reason.name));
    await aborted.promise;
    throw signal.reason;
  });
  socket.send(GET);
  await settle();
  socket.leave();
  assertEquals(await aborted.promise, "AbortError");
  await ended;
  assertEquals([socket.text, socket.closed, errors], ["", true, []]);
});

Deno.test("a client that leaves a silent stream cancels its body once and aborts the signal", async () => {
  let cancelled = 0;
  let signal: AbortSignal | undefined;
  const { socket, ended } = serving((request) => {
    signal = request.signal;
    return new Response(new ReadableStream({ cancel: () => void cancelled++ }));
  });
  socket.send(GET);
  await settle();
  assertEquals([cancelled, signal!.aborted], [0, false]);
  socket.leave();
  await ended;
  await settle();
  assertEquals([cancelled, signal!.aborted, socket.closed], [1, true, true]);
});

Deno.test("a signal is not aborted by what happens after its response", async () => {
  // The last two leave a part of their body, and the client leaves while the connection waits for it.
  for (const requests of [GET + GET, GET + post(10), GET + post(10_000_000)]) {
    const signals: AbortSignal[] = [];
    const { socket, ended } = serving((request) => {
      signals.push(request.signal);
      return new Response("a");
    });
    socket.send(requests);
    await settle();
    socket.leave();
    await ended;
    assertEquals(signals.map(({ aborted }) => aborted), [false, false]);
  }
});

Deno.test("a client that ends its sending direction at once gets an answer that is there at once", async () => {
  for (const request of [GET, GET.replace("1.1", "1.0"), post(2) + "ab", post(2) + "a"]) {
    const { socket, ended } = serving(async (request) => {
      const text = await request.text().catch(() => undefined);
      return new Response(text, { status: text === undefined ? 400 : 200 });
    });
    socket.send(request);
    socket.leave();
    await ended;
    assertEquals(statuses(socket), [request.endsWith("\na") ? 400 : 200], request);
  }
});

Deno.test("a body is used once something of it was read, or it was cancelled", async () => {
  const uses: Record<string, (body: ReadableStream) => Promise<unknown>> = {
    read: (body) => body.getReader().read(),
    cancelled: (body) => body.cancel(),
  };
  for (const [name, use] of Object.entries(uses)) {
    const used: boolean[] = [];
    const { socket, ended } = serving(async (request) => {
      used.push(request.bodyUsed);
      await use(request.body!);
      used.push(request.bodyUsed);
      return new Response();
    });
    socket.send(post(2) + "ab");
    socket.leave();
    await ended;
    assertEquals(used, [false, true], name);
  }
});

Deno.test("what a client that has left had sent is still its own, whatever connections come after it", async () => {
  const go = Promise.withResolvers<void>();
  let text: string | undefined;
  const { socket, ended } = serving(async (request) => {
    await go.promise;
    text = await request.text();
    return new Response();
  });
  socket.send(post(5) + "first");
  socket.leave();
  await settle();
  for (let later = 0; later < 3; later++) {
    const { socket, ended } = serving((request) => new Response(request.url));
    socket.send(GET.replace("/", "/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
    socket.leave();
    await ended;
    assertEquals(statuses(socket), [200]);
  }
  go.resolve();
  await ended;
  assertEquals(text, "first");
});

Deno.test("a body of which the client sends only a part breaks off when it leaves", async () => {
  let failure: unknown;
  const { socket, ended } = serving(async (request) => {
    await request.text().catch((error) => failure = error);
    return new Response();
  });
  socket.send(post(10) + "abc");
  await settle();
  assertEquals(failure, undefined);
  socket.leave();
  await ended;
  assert(failure instanceof Error);
});

Deno.test("what arrives for a body that is not read is held back, and read when it is", async () => {
  const go = Promise.withResolvers<void>();
  let read = 0;
  const { socket, ended } = serving(async (request) => {
    await go.promise;
    for await (const piece of request.body!) read += piece.length;
    return new Response(String(read));
  });
  const size = 1_000_000;
  socket.send(post(size));
  for (let sent = 0; sent < size; sent += 1000) socket.send("x".repeat(1000));
  await settle();
  const taken = size - socket.unread;
  assertLess(65_000, taken);
  assertLessOrEqual(taken, 2 * 65_536);
  go.resolve();
  while (socket.text === "") await settle();
  assertEquals(read, size);
  socket.leave();
  await ended;
});

Deno.test("requests beyond the present one are read up to a bound, and all are answered", async () => {
  const go = Promise.withResolvers<void>();
  const { socket, ended } = serving(async () => {
    await go.promise;
    return new Response("a");
  });
  const count = 5000;
  for (let i = 0; i < count; i++) socket.send(GET);
  await settle();
  assertLess(count * GET.length - socket.unread, 2 * 65_536);
  assertEquals(socket.text, "");
  go.resolve();
  while (statuses(socket).length < count) await settle();
  socket.leave();
  await ended;
});

Deno.test("100 Continue is written when the body is first read, and not where it has arrived", async () => {
  const go = Promise.withResolvers<void>();
  const { socket, ended } = serving(async (request) => {
    await go.promise;
    return new Response(await request.text());
  });
  const head = post(2, "Expect: 100-continue\r\n");
  socket.send(head);
  await settle();
  assertEquals(socket.text, "");
  go.resolve();
  await settle();
  assertEquals(socket.text, "HTTP/1.1 100 Continue\r\n\r\n");
  socket.send("ab");
  await settle();
  socket.send(`${head}cd`);
  await settle();
  assertEquals([statuses(socket), socket.text.includes("connection: close")], [[100, 200, 200], false]);
  socket.leave();
  await ended;
});

Deno.test("who expects more than 100 Continue gets that, and HTTP/1.0 never", async () => {
  const both = post(2, "Expect: 100-continue\r\nExpect: something\r\n");
  for (const [head, told] of [[both, true], [both.replace("1.1", "1.0"), false]] as const) {
    const { socket, ended } = serving(async (request) => new Response(await request.text()));
    socket.send(head);
    await settle();
    assertEquals(socket.text === "HTTP/1.1 100 Continue\r\n\r\n", told, head);
    socket.leave();
    await ended;
  }
});

Deno.test("an answer does not overtake 100 Continue", async () => {
  const { socket, ended } = serving((request) => {
    request.body!.getReader().read().catch(() => {});
    return new Response("at once");
  });
  const go = socket.hold();
  socket.send(post(2, "Expect: 100-continue\r\n"));
  await settle();
  go();
  await settle();
  assertEquals(statuses(socket), [100, 200]);
  socket.leave();
  await ended;
});

Deno.test("a client that waits to be asked for a body nobody reads is answered, and the connection ends", async () => {
  const { socket, ended } = serving(() => new Response("no", { status: 413 }));
  socket.send(post(2, "Expect: 100-continue\r\n"));
  await settle();
  assertEquals([statuses(socket), socket.text.includes("connection: close\r\n"), socket.shut], [
    [413],
    true,
    true,
  ]);
  socket.leave();
  await ended;
});

Deno.test("so does that of a GET, which gets no body to ask for", async () => {
  const { socket, ended } = serving(() => new Response("a"));
  socket.send(post(2, "Expect: 100-continue\r\n").replace("POST", "GET") + GET);
  await settle();
  assertEquals([statuses(socket), socket.text.includes("connection: close\r\n")], [[200], true]);
  socket.leave();
  await ended;
});

Deno.test("a body that was not read is passed over, and the next request answered", async () => {
  const { socket, ended } = serving(({ url }) => new Response(url.slice(-1)));
  socket.send(post(5));
  await settle();
  socket.send("GET /" + GET);
  await settle();
  // The first five bytes are the body's, so that what follows is a request.
  assertEquals(statuses(socket), [200, 200]);
  socket.leave();
  await ended;
});

Deno.test("a long body that was not read ends the connection, after the client could take the answer", async () => {
  const { socket, ended, clock, connection } = serving(() => new Response("no", { status: 413 }));
  socket.send(post(10_000_000));
  await settle();
  assertEquals([statuses(socket), socket.text.includes("connection: close\r\n")], [[413], true]);
  assertEquals([socket.shut, socket.closed], [true, false]);
  clock.now += 1999;
  connection.expire(clock.now);
  assertEquals(socket.closed, false);
  clock.now += 1;
  connection.expire(clock.now);
  await ended;
  assertEquals(socket.closed, true);
});

Deno.test("a client that sends all of it first is read to its end, so that it can take the answer, but not for ever", async () => {
  const { socket, ended, clock, connection } = serving(() => new Response("no", { status: 413 }));
  socket.send(post(100_000_000));
  await settle();
  for (let second = 0; second < 29; second++) {
    socket.send("x".repeat(1_000_000));
    await until("all to be read", () => socket.unread === 0);
    connection.expire(clock.now += 1000);
    assertEquals(socket.closed, false);
  }
  socket.send("x");
  await settle();
  connection.expire(clock.now += 1000);
  await ended;
  assertEquals(socket.closed, true);
});

Deno.test("requests sent ahead are all answered, also when that takes longer than an inbox waits that nobody reads", async () => {
  const { socket, ended } = serving(async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return new Response("a");
  });
  const count = 400;
  const request = GET.replace("\r\n\r\n", `\r\nX-Long: ${"x".repeat(1000)}\r\n\r\n`);
  socket.send(request.repeat(count));
  await until("all to be answered", () => statuses(socket).length === count || socket.closed || socket.shut);
  assertEquals([statuses(socket).length, socket.text.includes("connection: close")], [count, false]);
  socket.leave();
  await ended;
});

Deno.test("before a shutdown each answer says that it is its connection's last, and it is", async () => {
  const { socket, ended, close } = serving(() => new Response("a"));
  socket.send(GET);
  await settle();
  close();
  await settle();
  assertEquals([socket.closed, socket.text.includes("connection: close\r\n")], [false, false]);
  socket.send(GET + GET);
  await settle();
  socket.leave();
  await ended;
  assertEquals([statuses(socket), socket.text.match(/connection: close\r\n/g)?.length], [[200, 200], 1]);
});

Deno.test("a head that takes too long is 408, counted from its first byte", async () => {
  const { socket, ended, clock, connection } = serving(() => new Response());
  clock.now = 60_000;
  connection.expire(clock.now);
  socket.send("GET / HT");
  await settle();
  clock.now += 9999;
  connection.expire(clock.now);
  socket.send("TP/1.1\r\n");
  await settle();
  assertEquals(socket.text, "");
  clock.now += 1;
  connection.expire(clock.now);
  await settle();
  // Too late, and no second answer.
  socket.send("Host: a\r\n\r\n");
  await settle();
  assertEquals([statuses(socket), socket.shut], [[408], true]);
  assert(socket.text.includes('"code":"timeout"'), socket.text);
  socket.leave();
  await ended;
});

Deno.test("a connection that asks nothing is closed without a word, and none is while it is answered", async () => {
  const go = Promise.withResolvers<void>();
  const { socket, ended, clock, connection } = serving(async () => {
    await go.promise;
    return new Response("a");
  });
  socket.send(GET);
  await settle();
  clock.now += 1e9;
  connection.expire(clock.now);
  go.resolve();
  await settle();
  const answered = socket.text;
  assertEquals([statuses(socket), socket.closed], [[200], false]);
  clock.now += 64_999;
  connection.expire(clock.now);
  assertEquals(socket.closed, false);
  clock.now += 1;
  connection.expire(clock.now);
  await ended;
  assertEquals([socket.closed, socket.text], [true, answered]);
});

Deno.test("a client that takes nothing of an answer that is there whole is not waited for for ever", async () => {
  for (const [request, wait] of [[GET, 65_000], ["\0", 10_000]] as const) {
    const { socket, ended, clock, connection } = serving(() => new Response("a"));
    clock.now = 1e6;
    socket.hold();
    socket.send(request);
    await settle();
    connection.expire(clock.now);
    clock.now += wait - 1;
    connection.expire(clock.now);
    assertEquals(socket.closed, false);
    clock.now += 1;
    connection.expire(clock.now);
    await ended;
    assertEquals(socket.closed, true);
  }
});

Deno.test("a handler may take any time, also behind another answer", async () => {
  let asked = 0;
  const go = Promise.withResolvers<Response>();
  const { socket, ended, clock, connection } = serving(() => ++asked === 1 ? new Response("a") : go.promise);
  socket.send(GET + GET);
  await settle();
  for (let i = 0; i < 3; i++) connection.expire(clock.now += 1e9);
  assertEquals([asked, socket.closed], [2, false]);
  go.resolve(new Response("b"));
  await settle();
  socket.leave();
  await ended;
  assertEquals(statuses(socket), [200, 200]);
});

Deno.test("a stream may take any time", async () => {
  const { socket, ended, clock, connection } = serving(() => new Response(new ReadableStream()));
  socket.send(GET);
  await settle();
  for (let i = 0; i < 3; i++) connection.expire(clock.now += 1e9);
  assertEquals([statuses(socket), socket.closed], [[200], false]);
  socket.leave();
  await ended;
});

Deno.test("a drain does not wait for a client that sends on after its answer", async () => {
  for (const length of [10, 10_000_000]) {
    const { socket, ended, connection } = serving(() => new Response("no"));
    socket.send(post(length));
    await settle();
    assertEquals([statuses(socket), socket.closed], [[200], false]);
    connection.drain();
    await ended;
    assertEquals(socket.closed, true);
  }
});

Deno.test("a client that asked for more after its last request can take the answer before the connection is closed", async () => {
  const { socket, ended } = serving(() => new Response("a"));
  socket.send(GET.replace("Host", "Connection: close\r\nHost") + GET);
  await settle();
  assertEquals([statuses(socket), socket.shut, socket.closed], [[200], true, false]);
  socket.leave();
  await ended;
});

Deno.test("a drain closes a connection of whose request only a part has come, without an answer", async () => {
  const { socket, ended, connection } = serving(() => new Response("a"));
  socket.send(GET.slice(0, -2));
  await settle();
  connection.drain();
  socket.send(GET.slice(-2));
  await ended;
  assertEquals([socket.text, socket.closed], ["", true]);
});

Deno.test("a drain closes what is idle at once, and what is answered after its response", async () => {
  const idle = serving(() => new Response());
  idle.connection.drain();
  await idle.ended;
  assertEquals(idle.socket.closed, true);
  const go = Promise.withResolvers<void>();
  const busy = serving(async () => {
    await go.promise;
    return new Response("whole");
  });
  busy.socket.send(GET + GET);
  await settle();
  busy.connection.drain();
  await settle();
  assertEquals(busy.socket.closed, false);
  go.resolve();
  await busy.ended;
  const whole =
    "HTTP/1.1 200 OK\r\ncontent-type: text/plain;charset=UTF-8\r\ncontent-length: 5\r\nconnection: close\r\n\r\nwhole";
  assertEquals(dateless(busy.socket.text), whole);
});

const GET_LINES = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";

for (
  const [what, request] of Object.entries({
    "requests behind the one that is answered": GET_LINES + GET_LINES.repeat(20_000),
    "a body that nobody reads": `GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n${
      "x".repeat(200_000)
    }`,
  })
) {
  for (const phase of ["handler", "stream"]) {
    Deno.test(`a client that has sent more than is held (${what}) is still seen to leave: ${phase}`, async () => {
      let told = 0;
      const { socket, ended } = serving((request) => {
        if (phase === "stream") return new Response(new ReadableStream({ cancel: () => void told++ }));
        return new Promise((resolve) => {
          request.signal.addEventListener("abort", () => {
            told++;
            resolve(new Response(null));
          });
        });
      });
      socket.send(request);
      await settle();
      assertEquals(told, 0);
      socket.leave();
      const leftAt = performance.now();
      await ended;
      assertEquals([told, performance.now() - leftAt < 100], [1, true]);
    });
  }
}

Deno.test("what did not fit is lost, so the connection ends with the answer that was running", async () => {
  let answer!: (response: Response) => void;
  const { socket, connection, ended } = serving(() => new Promise((resolve) => answer = resolve));
  socket.send(GET_LINES + GET_LINES.repeat(20_000));
  await until("all to be read", () => socket.unread === 0);
  answer(new Response("ok"));
  await settle();
  assertEquals(statuses(socket), [200]);
  assertEquals(socket.shut, true);
  connection.drain();
  socket.leave();
  await ended;
});
