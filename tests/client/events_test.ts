import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  BodyBrokenError,
  EventTooLargeError,
  readEvents,
  type StreamEvent,
} from "../../lib/client/events.ts";
import { bodyOf, cutAt, everyCut } from "../helpers/cut_body.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** All events of a body; `at` counts the reads, from 1. */
async function collect(pieces: Uint8Array[], options = {}): Promise<StreamEvent[]> {
  let reads = 0;
  const events: StreamEvent[] = [];
  for await (const batch of readEvents(bodyOf(pieces), { now: () => ++reads, ...options })) {
    assert(batch.length > 0, "a batch is never empty");
    events.push(...batch);
  }
  return events;
}

const strip = (events: StreamEvent[]) => events.map(({ event, data }) => ({ event, data }));

const a = { event: undefined, data: '{"token":"a"}' };
const b = { event: undefined, data: '{"token":" b"}' };
const hangul = { event: undefined, data: '{"token":" 안녕😀é"}' };

const WIRES: [name: string, wire: string, expected: { event?: string; data: string }[]][] = [
  ["line feeds", 'data: {"token":"a"}\n\ndata: {"token":" b"}\n\n', [a, b]],
  ["CRLF", 'data: {"token":"a"}\r\n\r\ndata: {"token":" b"}\r\n\r\n', [a, b]],
  ["bare CR", 'data: {"token":"a"}\r\rdata: {"token":" b"}\r\r', [a, b]],
  ["mixed line ends", 'data: {"token":"a"}\r\n\ndata: {"token":" b"}\n\r\rdata: {"token":"a"}\r\r\n', [
    a,
    b,
    a,
  ]],
  ["no space after the colon", 'data:{"token":"a"}\n\ndata:{"token":" b"}\n\n', [a, b]],
  ["a byte order mark first", '\uFEFFdata: {"token":"a"}\n\n', [a]],
  ["two byte order marks: the second spoils its line", '\uFEFF\uFEFFdata: x\n\ndata: {"token":"a"}\n\n', [a]],
  [
    "comments, retry, id and event lines between",
    ': hi\n\nretry: 10\n\nid: 7\ndata: {"token":"a"}\n: ping\n\n:\n\nevent: x\ndata: {"token":" b"}\n\nevent: none\n\n',
    [a, { event: "x", data: b.data }],
  ],
  ["JSON over two data lines", 'data: {"token":\ndata: "a"}\n\n', [{
    event: undefined,
    data: '{"token":\n"a"}',
  }]],
  ["two-, three- and four-byte characters", 'data: {"token":" 안녕😀é"}\n\ndata: {"token":"a"}\r\n\r\n', [
    hangul,
    a,
  ]],
  ["unknown and bare field names", 'foo: 1\ndata\ndata: {"token":"a"}\nda\n\n', [{
    event: undefined,
    data: "\n" + a.data,
  }]],
];

for (const [name, wire, expected] of WIRES) {
  Deno.test(`events are the same at every cut: ${name}`, async () => {
    for (const pieces of everyCut(bytesOf(wire))) {
      assertEquals(strip(await collect(pieces)), expected, `cut ${pieces.map((p) => p.length)}`);
    }
  });
}

Deno.test("an event has the time of the read that brought its closing line end", async () => {
  for (const [end, bytesAfterClose] of [["\n", 0], ["\r", 0], ["\r\n", 1]] as const) {
    const wire = bytesOf(`data: 1${end}${end}data: 2${end}${end}`);
    const single = cutAt(wire, Array.from({ length: wire.length - 1 }, (_, i) => i + 1));
    // Read k brings byte k; of a CRLF the CR already closes the event.
    const expected = [wire.length / 2 - bytesAfterClose, wire.length - bytesAfterClose];
    assertEquals((await collect(single)).map((event) => event.at), expected, JSON.stringify(end));
  }
});

Deno.test("events of one read come as one batch with one time", async () => {
  let reads = 0;
  const batches: StreamEvent[][] = [];
  const body = bodyOf([bytesOf("data: 1\n\ndata: 2\n\nda"), bytesOf("ta: 3\n\n")]);
  for await (const batch of readEvents(body, { now: () => ++reads })) batches.push(batch);
  assertEquals(batches, [[{ data: "1", at: 1 }, { data: "2", at: 1 }], [{ data: "3", at: 2 }]]);
});

Deno.test("one event over 50 reads is one event, at the time of the last", async () => {
  const wire = bytesOf(`data: ${"안".repeat(30)}\n\n`);
  const offsets = Array.from({ length: 49 }, (_, i) => (i + 1) * 2 - 1);
  assertEquals(await collect(cutAt(wire, offsets)), [{ data: "안".repeat(30), at: 50 }]);
});

Deno.test("an event without its closing blank line is marked, and comes last", async () => {
  for (
    const [wire, last] of [["data: 1\n\ndata: 2\n", "2"], ["data: 1\n\ndata: [DO", "[DO"], [
      "data: 1\r\rdata: 2\r",
      "2",
    ]]
  ) {
    const events = await collect([bytesOf(wire)]);
    assertEquals(events.map((event) => [event.data, event.unterminated]), [["1", undefined], [last, true]]);
  }
});

Deno.test("nothing is invented at the end of a body that closed its last event", async () => {
  for (const wire of ["", "\n", ": ping\n", "data: 1\n\n: x", "id: 3\n", "event: x\n"]) {
    assertEquals((await collect([bytesOf(wire)])).filter((event) => event.unterminated), []);
  }
});

Deno.test("an event longer than the limit is an error at every cut, one of just the limit is not", async () => {
  const max = 40;
  for (const shape of [(text: string) => `data: ${text}\n\n`, (text: string) => `data:${text}\r\n\r\n`]) {
    for (const pieces of everyCut(bytesOf(shape("x".repeat(max))))) {
      assertEquals((await collect(pieces, { maxEventLength: max }))[0].data.length, max);
    }
    for (const pieces of everyCut(bytesOf(shape("x".repeat(max + 1))))) {
      await assertRejects(() => collect(pieces, { maxEventLength: max }), EventTooLargeError);
    }
  }
});

Deno.test("an endless event stops the reading soon after 1 MiB, and the body is cancelled", async () => {
  let given = 0;
  let cancelled = false;
  const piece = new Uint8Array(64 * 1024).fill(120);
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(given === 0 ? bytesOf("data: ") : piece);
      given += piece.length;
    },
    cancel: () => void (cancelled = true),
  }, { highWaterMark: 0 });
  await assertRejects(() => Array.fromAsync(readEvents(body)), EventTooLargeError, "at most 1048576");
  assert(given <= 1024 * 1024 + 3 * piece.length, `${given} bytes were read`);
  assert(cancelled);
});

Deno.test("an endless comment is skipped without being held", async () => {
  const comment = Array.from({ length: 64 }, () => new Uint8Array(64 * 1024).fill(120));
  const events = await collect([bytesOf(":"), ...comment, bytesOf("\ndata: 1\n\n")]);
  assertEquals(events.map((event) => event.data), ["1"]);
});

Deno.test("a read that fails is named, with its cause, after the events before it", async () => {
  const cause = new Error("reset");
  let pulls = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => pulls++ ? controller.error(cause) : controller.enqueue(bytesOf("data: 1\n\n")),
  }, { highWaterMark: 0 });
  const seen: string[] = [];
  const error = await assertRejects(async () => {
    for await (const batch of readEvents(body)) seen.push(...batch.map((event) => event.data));
  }, BodyBrokenError);
  assertEquals(error.cause, cause);
  assertEquals(seen, ["1"]);
});

Deno.test("an abort ends a pending read at once with the signal's reason and cancels the body", async () => {
  const cancelled = Promise.withResolvers<unknown>();
  const body = new ReadableStream<Uint8Array>({ cancel: (reason) => cancelled.resolve(reason) });
  const stop = new AbortController();
  const reading = readEvents(body, { signal: stop.signal }).next();
  const reason = new Error("enough");
  stop.abort(reason);
  assertEquals(await reading.catch((error) => error), reason);
  assertEquals(await cancelled.promise, reason);
});

Deno.test("leaving the loop cancels the body", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(bytesOf("data: 1\n\n")),
    cancel: () => void (cancelled = true),
  }, { highWaterMark: 0 });
  for await (const _ of readEvents(body)) break;
  assert(cancelled);
});
