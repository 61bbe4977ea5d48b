import { assertEquals, assertRejects } from "@std/assert";
import { TapError } from "../../lib/errors.ts";
import { HandshakeError } from "../../lib/engine/upstream/exchange.ts";
import { Link } from "../../lib/engine/upstream/link.ts";

/** A connection that comes about when the test says so, and counts how often it is closed. */
function scripted() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const seen = { aborted: false, closed: 0 };
  const connection = {
    read: () => Promise.resolve(null),
    write: (bytes: Uint8Array) => Promise.resolve(bytes.length),
    close: () => void seen.closed++,
  };
  const connect = (signal: AbortSignal) => {
    signal.addEventListener("abort", () => seen.aborted = true);
    return promise.then(() => connection);
  };
  return { seen, connection, connect, arrive: resolve, fail: reject };
}

Deno.test("a link is closed once, however often that is asked for", async () => {
  const { seen, connection, connect, arrive } = scripted();
  const link = new Link();
  const opening = link.open(connect);
  arrive();
  assertEquals(await opening, connection);
  assertEquals(seen, { aborted: false, closed: 0 });
  link.close();
  link.close();
  assertEquals(seen, { aborted: false, closed: 1 });
});

Deno.test("a link that is closed while it connects takes that back, and closes what comes too late", async () => {
  const { seen, connect, arrive } = scripted();
  const link = new Link();
  const opening = link.open(connect);
  link.close();
  assertEquals(seen, { aborted: true, closed: 0 });
  arrive();
  await assertRejects(() => opening, DOMException, "abort");
  link.close();
  assertEquals(seen.closed, 1);
});

Deno.test("a link that does not come about tells of what kind that is, and nothing of what the runtime says", async () => {
  const cases: [Error, string][] = [
    [new Error("10.0.0.1: refused"), "The upstream server cannot be reached."],
    [new HandshakeError("10.0.0.1"), "The upstream server cannot be trusted: its TLS handshake failed."],
  ];
  for (const [thrown, told] of cases) {
    const { connect, fail } = scripted();
    const opening = new Link().open(connect);
    fail(thrown);
    const error = await assertRejects(() => opening, TapError);
    assertEquals([error.code, error.message, error.cause], ["upstream_error", told, thrown]);
  }
});
