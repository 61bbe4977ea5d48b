import { assert, assertEquals } from "@std/assert";
import { nextTask } from "../../lib/event_loop.ts";
import { offerDirect, type Outlet } from "../../lib/http/outlet.ts";
import { DirectSender } from "../../lib/http/server/direct_sender.ts";
import { SharedBytes } from "../../lib/http/bytes.ts";
import { MemorySocket } from "./memory_socket.ts";
import { CountingBody, HEAD, sending } from "./sending.ts";
import { dateless, serving, settle } from "./serving.ts";

const LAST = "0\r\n\r\n";
const encode = (text: string) => new TextEncoder().encode(text);

/** The texts of all writes. */
function written({ writes }: MemorySocket): string[] {
  return writes.map((bytes) => new TextDecoder().decode(bytes));
}

Deno.test("the head goes out in the same turn, also while the body has nothing", async () => {
  let release!: () => void;
  const { socket, body, sender } = sending((socket) => release = socket.hold());
  assertEquals([sender.desiredSize, body.resumed], [-1, 1]);
  await settle();
  assertEquals(written(socket), []);
  release();
  await settle();
  assertEquals([written(socket), body.resumed, sender.desiredSize], [[HEAD], 1, 0]);
});

Deno.test("what the body has ready goes with the head in one write, and so does its end", async () => {
  const says = (...steps: ((outlet: Outlet) => void)[]) => {
    const body = new CountingBody();
    const socket = new MemorySocket();
    const sender = new DirectSender(socket, body);
    body.resume = () => {
      body.resumed++;
      for (const step of steps.splice(0)) step(sender);
    };
    const result: { whole?: boolean } = {};
    sender.send(HEAD).then((whole) => result.whole = whole);
    return { socket, result, body };
  };
  const a = (outlet: Outlet) => outlet.enqueue(encode("a"));
  const close = (outlet: Outlet) => outlet.close();
  const first = says(a);
  const all = says(a, close);
  const nothing = says(close);
  const two = says(a, a, close);
  const broken = says(a, (outlet) => outlet.error(new Error("broken")));
  await settle();
  assertEquals([written(first.socket), first.result.whole], [[`${HEAD}1\r\na\r\n`], undefined]);
  assertEquals([written(all.socket), all.result.whole], [[`${HEAD}1\r\na\r\n${LAST}`], true]);
  assertEquals([written(nothing.socket), nothing.result.whole], [[`${HEAD}${LAST}`], true]);
  assertEquals(written(two.socket), [`${HEAD}1\r\na\r\n`, "1\r\na\r\n", LAST]);
  assertEquals([written(broken.socket), broken.result.whole, broken.socket.closed], [[], false, true]);
  // Once for the first bytes, and once for the end.
  assertEquals([first, all, nothing, broken].map(({ body }) => body.resumed), [1, 2, 2, 1]);
});

Deno.test("the end goes with what was given in the same turn", async () => {
  const { socket, body, sender, result } = sending();
  await settle();
  sender.enqueue(encode("a"));
  sender.close();
  await settle();
  assertEquals([written(socket), result.whole, body.resumed], [[HEAD, `1\r\na\r\n${LAST}`], true, 2]);
});

Deno.test("what is enqueued is one chunk and one write, begun in the same turn", async () => {
  const { socket, sender } = sending();
  await settle();
  for (const [text, frame] of [["a", "1\r\na\r\n"], ["x".repeat(26), `1a\r\n${"x".repeat(26)}\r\n`]]) {
    sender.enqueue(encode(text));
    assertEquals(sender.desiredSize, -1);
    // The write itself takes a turn or two in memory.
    await settle();
    assertEquals([written(socket).at(-1), sender.desiredSize], [frame, 0]);
  }
  assertEquals(socket.writes.length, 3);
});

Deno.test("writes of several senders that enqueue in one turn all begin after it", async () => {
  const senders = [sending(), sending(), sending()];
  await settle();
  senders.forEach(({ sender }, i) => sender.enqueue(encode(String(i))));
  await settle();
  senders.forEach(({ sender }, i) => sender.enqueue(encode(String(i))));
  await settle();
  senders.forEach(({ socket }, i) => {
    const frame = `1\r\n${i}\r\n`;
    assertEquals(written(socket), [HEAD, frame, frame]);
  });
});

Deno.test("no more than 120 writes begin in one task, which is what the runtime's sockets take, and none is forgotten", async () => {
  const senders = Array.from({ length: 300 }, () => sending());
  await settle();
  const begun = () => senders.filter(({ socket }) => socket.writes.length > 0).length;
  const counts = [begun()];
  while (begun() < 300) {
    await new Promise<void>(nextTask);
    await settle();
    counts.push(begun());
  }
  assertEquals(counts, [120, 240, 300]);
});

Deno.test("what is enqueued while a write is out waits for it, and keeps its order", async () => {
  const { socket, body, sender } = sending();
  await settle();
  const release = socket.hold();
  for (const text of ["a", "b", "c"]) sender.enqueue(encode(text));
  await settle();
  // MemorySocket fails a second write at once.
  assertEquals(written(socket), [HEAD]);
  release();
  await settle();
  assertEquals(written(socket), [HEAD, "1\r\na\r\n", "1\r\nb\r\n", "1\r\nc\r\n"]);
  assertEquals([body.cancelled, sender.desiredSize], [0, 0]);
});

Deno.test("writes that are taken in part lose and double nothing, whatever their size", async () => {
  for (const taken of [1, 2, 3, 4, 5, 6, 7, 100]) {
    const { socket, sender, result } = sending((socket) => socket.taken = taken);
    for (const text of ["ab", "cdefg"]) sender.enqueue(encode(text));
    sender.close();
    await settle();
    assertEquals(
      [socket.text, result.whole],
      [`${HEAD}2\r\nab\r\n5\r\ncdefg\r\n${LAST}`, true],
      `${taken} at a time`,
    );
  }
});

Deno.test("the body is resumed once when it has asked and the write is taken, and not otherwise", async () => {
  const { socket, body, sender } = sending();
  await settle();
  assertEquals(body.resumed, 1);
  sender.enqueue(encode("a"));
  await settle();
  assertEquals([written(socket).length, body.resumed], [2, 1]);
  const release = socket.hold();
  sender.enqueue(encode("b"));
  sender.ask();
  sender.ask();
  await settle();
  assertEquals(body.resumed, 1);
  release();
  await settle();
  assertEquals(body.resumed, 2);
  sender.enqueue(encode("c"));
  await settle();
  assertEquals(body.resumed, 2);
});

Deno.test("a body that asks while nothing is out is resumed as well, and once for each time it asks", async () => {
  const { socket, body, sender } = sending();
  await settle();
  for (let asked = 1; asked <= 3; asked++) {
    sender.ask();
    assertEquals(body.resumed, asked);
    await settle();
    assertEquals(body.resumed, asked + 1);
  }
  // What it gives between its question and the answer is taken first.
  sender.ask();
  sender.enqueue(encode("a"));
  await settle();
  assertEquals(body.resumed, 5);
  const release = socket.hold();
  sender.ask();
  sender.enqueue(encode("b"));
  await settle();
  assertEquals(body.resumed, 5);
  release();
  await settle();
  assertEquals(body.resumed, 6);
  sender.leave();
  sender.ask();
  await settle();
  assertEquals(body.resumed, 6);
});

Deno.test("shared bytes of any size and number keep their own chunks", async () => {
  const sizes = [1, 100, 70_000, 9, ...Array.from({ length: 3000 }, (_, i) => 1 + i % 60), 65_524, 65_525, 3];
  const all = sizes.map((size, i) => new SharedBytes(encode(String.fromCharCode(97 + i % 26).repeat(size))));
  const { socket, sender } = sending();
  for (let round = 0; round < 2; round++) {
    for (const shared of all) {
      sender.enqueue(shared.bytes, shared);
      await settle();
    }
  }
  const wanted = all.map(({ bytes }) =>
    `${bytes.length.toString(16)}\r\n${new TextDecoder().decode(bytes)}\r\n`
  );
  assertEquals(written(socket).slice(1), [...wanted, ...wanted]);
});

Deno.test("a write that is taken in part does not resume the body before its rest is taken", async () => {
  const { socket, body, sender } = sending();
  await settle();
  socket.taken = 3;
  sender.enqueue(encode("abc"));
  sender.ask();
  while (socket.writes.length < 2) await undefined;
  const release = socket.hold();
  await settle();
  assertEquals([body.resumed, socket.text.endsWith("\r\n\r\n3\r\n")], [1, true]);
  release();
  await settle();
  assertEquals([body.resumed, socket.text.endsWith("3\r\nabc\r\n")], [2, true]);
});

Deno.test("the end is one last chunk, behind all that was given, and the body is told that it is out", async () => {
  for (const held of [false, true]) {
    const { socket, body, sender, result } = sending();
    await settle();
    const release = held ? socket.hold() : () => {};
    sender.enqueue(encode("a"));
    sender.enqueue(encode("b"));
    sender.close();
    sender.close();
    sender.enqueue(encode("late"));
    await settle();
    assertEquals(result.whole, held ? undefined : true);
    release();
    await settle();
    assertEquals(written(socket), [HEAD, "1\r\na\r\n", "1\r\nb\r\n", LAST]);
    assertEquals([result.whole, body.resumed, body.cancelled, socket.closed], [true, 2, 0, false]);
    sender.close();
    sender.enqueue(encode("later"));
    await settle();
    assertEquals(socket.writes.length, 4);
  }
});

Deno.test("an end while the last chunk is on its way adds nothing to it", async () => {
  const { socket, sender, result } = sending();
  await settle();
  const release = socket.hold();
  sender.close();
  await settle();
  sender.close();
  sender.enqueue(encode("late"));
  release();
  await settle();
  assertEquals([written(socket), result.whole], [[HEAD, LAST], true]);
});

Deno.test("an error closes the socket without the last chunk, and nothing more is sent", async () => {
  const { socket, sender, result } = sending();
  await settle();
  sender.enqueue(encode("a"));
  await settle();
  sender.error();
  sender.error();
  await settle();
  assertEquals([socket.closed, result.whole], [true, false]);
  sender.enqueue(encode("b"));
  sender.close();
  await settle();
  assertEquals(written(socket), [HEAD, "1\r\na\r\n"]);
  assertEquals(sender.desiredSize, -1);
});

Deno.test("a peer that leaves cancels the body once, and nothing more is sent or asked for", async () => {
  for (const held of [false, true]) {
    const { socket, body, sender, result } = sending();
    await settle();
    if (held) socket.hold();
    sender.enqueue(encode("a"));
    sender.ask();
    if (held) await settle();
    socket.close();
    sender.leave();
    sender.leave();
    assertEquals(body.cancelled, 1);
    sender.enqueue(encode("b"));
    sender.close();
    sender.error();
    await settle();
    assertEquals([written(socket), result.whole], [[HEAD], false]);
    assertEquals([body.cancelled, body.resumed, sender.desiredSize], [1, 1, -1]);
  }
});

Deno.test("a write that is still taken after the peer has left resumes nobody", async () => {
  const { socket, body, sender } = sending();
  await settle();
  const release = socket.hold();
  sender.enqueue(encode("a"));
  sender.ask();
  await settle();
  sender.leave();
  release();
  await settle();
  assertEquals([body.cancelled, body.resumed], [1, 1]);
});

Deno.test("after the end neither a peer that leaves nor an error of the body does anything", async () => {
  const { socket, body, sender, result } = sending();
  sender.close();
  await settle();
  sender.leave();
  sender.error();
  assertEquals([result.whole, body.cancelled, socket.closed], [true, 0, false]);
});

Deno.test("a write that fails, or takes nothing, cancels the body once", async () => {
  for (const how of ["shut", "taken"] as const) {
    const { socket, body, sender, result } = sending();
    await settle();
    if (how === "shut") socket.shut = true;
    else socket.taken = 0;
    sender.enqueue(encode("a"));
    sender.enqueue(encode("b"));
    await settle();
    assertEquals([socket.text, result.whole, body.cancelled, body.resumed], [HEAD, false, 1, 1], how);
  }
});

Deno.test("first pieces of all lengths go out whole behind their heads, whichever streams begin between them", async () => {
  const lengths = [1, 600, 65_524, 65_525, 70_000, 3];
  const all = lengths.map((length, i) => {
    const { socket, body, sender } = sending(undefined, i !== 1);
    const bytes = new Uint8Array(length).fill(97 + i);
    sender.enqueue(bytes);
    bytes.fill(0);
    return { socket, body, length, letter: String.fromCharCode(97 + i), chunked: i !== 1 };
  });
  await settle();
  for (const { socket, length, letter, chunked } of all) {
    const text = letter.repeat(length);
    const piece = chunked ? `${length.toString(16)}\r\n${text}\r\n` : text;
    assertEquals(socket.text === HEAD + piece, true, `${length}`);
  }
});

Deno.test("shared bytes are framed as others are each time they come, and their chunk is made once", async () => {
  const shared = new SharedBytes(encode("token"));
  const frames: Uint8Array[] = [];
  const note = (socket: MemorySocket) => {
    const write = socket.write.bind(socket);
    socket.write = (bytes) => {
      if (bytes.length === 10) frames.push(bytes);
      return write(bytes);
    };
  };
  const one = sending(note);
  const other = sending(note);
  await settle();
  for (const [{ sender }, told] of [[one, shared], [other, shared], [one, undefined]] as const) {
    sender.enqueue(shared.bytes, told);
    await settle();
  }
  const frame = "5\r\ntoken\r\n";
  assertEquals(written(one.socket), [HEAD, frame, frame]);
  assertEquals(written(other.socket), [HEAD, frame]);
  assertEquals([frames[0] === frames[1], frames[1] === frames[2]], [true, false]);
});

Deno.test("an empty array writes nothing: its chunk would be the last", async () => {
  const { socket, sender } = sending();
  await settle();
  sender.enqueue(new Uint8Array(0));
  const empty = new SharedBytes(new Uint8Array(0));
  sender.enqueue(empty.bytes, empty);
  await settle();
  assertEquals([written(socket), sender.desiredSize], [[HEAD], 0]);
  const release = socket.hold();
  sender.enqueue(encode("a"));
  sender.enqueue(new Uint8Array(0));
  release();
  await settle();
  assertEquals(written(socket), [HEAD, "1\r\na\r\n"]);
});

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/** A stream whose one pull gives `text`, with a body that a server may use in its place. */
function offered(
  text: string,
): { body: CountingBody; stream: ReadableStream<Uint8Array>; pulls: () => number } {
  const body = new CountingBody();
  let pulls = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulls++;
      controller.enqueue(encode(text));
      controller.close();
    },
  }, { highWaterMark: 0 });
  offerDirect(stream, body);
  return { body, stream, pulls: () => pulls };
}

Deno.test("a connection sends a direct body in chunks without reading its stream, and then the next answer", async () => {
  const { body, stream, pulls } = offered("unread");
  const { socket, ended, errors } = serving(() => new Response(body.outlet ? "next" : stream));
  socket.send(GET + GET);
  await settle();
  assertEquals(body.resumed, 1);
  body.outlet!.enqueue(encode("a"));
  body.outlet!.close();
  await settle();
  const [first, next] = dateless(socket.text).split(LAST);
  assertEquals(first, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n");
  assert(next.endsWith("\r\n\r\nnext"), next);
  socket.leave();
  await ended;
  assertEquals([pulls(), body.cancelled, errors], [0, 0, []]);
});

Deno.test("a client that leaves a direct body cancels it once and aborts the request's signal", async () => {
  const { body, stream } = offered("unread");
  let signal: AbortSignal | undefined;
  const { socket, ended, errors } = serving((request) => {
    signal = request.signal;
    return new Response(stream);
  });
  socket.send(GET);
  await settle();
  assertEquals([body.cancelled, signal!.aborted], [0, false]);
  socket.leave();
  await ended;
  assertEquals([body.cancelled, signal!.aborted, socket.closed, errors], [1, true, true, []]);
});

Deno.test("a direct body that breaks ends the connection, and a request behind it is not answered", async () => {
  const { body, stream } = offered("unread");
  const { socket, ended } = serving(() => new Response(stream));
  socket.send(GET + GET);
  await settle();
  body.outlet!.enqueue(encode("a"));
  await settle();
  body.outlet!.error(new Error("torn"));
  await ended;
  assert(socket.text.endsWith("\r\n\r\n1\r\na\r\n"));
  assertEquals(socket.closed, true);
});

Deno.test("a body that is over before it is attached is served by its stream", async () => {
  const { body, stream, pulls } = offered("whole");
  body.over = true;
  const { socket, ended } = serving(() => new Response(stream));
  socket.send(GET);
  await settle();
  assertEquals([body.outlet, pulls()], [undefined, 1]);
  assert(socket.text.endsWith("\r\n\r\nwhole"), socket.text);
  socket.leave();
  await ended;
});

Deno.test("HTTP/1.0 gets the same without chunks, ended by the connection, and HEAD gets nothing", async () => {
  const old = offered("plain");
  const { socket, ended } = serving(() => new Response(old.stream));
  socket.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  await settle();
  assertEquals(dateless(socket.text), "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
  const shared = new SharedBytes(encode("a"));
  const fleeting = encode("b");
  old.body.outlet!.enqueue(shared.bytes, shared);
  await settle();
  const release = socket.hold();
  old.body.outlet!.enqueue(fleeting);
  old.body.outlet!.enqueue(fleeting);
  fleeting.fill(0);
  release();
  await settle();
  assertEquals([socket.text.slice(-3), socket.closed], ["abb", false]);
  old.body.outlet!.close();
  await ended;
  assertEquals([socket.text.slice(-3), socket.closed, old.body.cancelled, old.pulls()], ["abb", true, 0, 0]);
  assertEquals(socket.writes.filter(({ length }) => length === 0), []);

  const short = sending(undefined, false);
  short.sender.enqueue(encode("c"));
  short.sender.close();
  await settle();
  assertEquals([written(short.socket), short.result.whole, short.body.resumed], [[HEAD, "c"], true, 2]);

  const head = offered("unread");
  const asked = serving(() => new Response(head.stream));
  asked.socket.send(GET.replace("GET", "HEAD"));
  await settle();
  assertEquals(dateless(asked.socket.text), "HTTP/1.1 200 OK\r\n\r\n");
  assertEquals([head.body.outlet, head.pulls()], [undefined, 0]);
  asked.socket.leave();
  await asked.ended;
});

Deno.test("a body that can be driven directly tells of its own failure, so it is not told again where its stream is read", async () => {
  const failing = () => {
    const stream = new ReadableStream({ pull: (controller) => controller.error(new Error("broken")) });
    const body = new CountingBody();
    body.over = true;
    offerDirect(stream, body);
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
  const { socket, ended, errors } = serving(failing);
  socket.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
  await settle();
  socket.leave();
  await ended;
  assertEquals([errors, socket.closed], [[], true]);
});
