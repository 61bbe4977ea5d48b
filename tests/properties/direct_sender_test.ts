import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { ChunkedDecoder } from "../../lib/http/chunked.ts";
import { SharedBytes } from "../../lib/http/bytes.ts";
import { HEAD, sending } from "../http_server/sending.ts";
import { settle } from "../http_server/serving.ts";

/** What a test does to a sender and its socket; a number lets that many bytes of a write be taken. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ bytes: fc.uint8Array({ maxLength: 40 }), shared: fc.boolean() }) },
  { weight: 4, arbitrary: fc.constantFrom("settle", "hold", "release", "ask") },
  { weight: 1, arbitrary: fc.constant("close") },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 50 }) },
);

Deno.test("whatever is enqueued, asked, held and taken in part, what arrives is exactly what was given", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.boolean(), async (steps, chunked) => {
      const { socket, body, sender, result } = sending(undefined, chunked);
      const given: number[] = [];
      let resumes = 2;
      let closed = false;
      let release = () => {};
      for (const now of steps) {
        if (typeof now === "number") socket.taken = now;
        else if (typeof now === "object") {
          if (!closed) given.push(...now.bytes);
          if (sender.desiredSize < 0) resumes++;
          sender.enqueue(now.bytes, now.shared ? new SharedBytes(now.bytes) : undefined);
        } else if (now === "settle") await settle();
        else if (now === "release") release();
        else if (now === "hold") {
          release();
          release = socket.hold();
        } else if (now === "ask") {
          resumes++;
          sender.ask();
        } else {
          closed = true;
          sender.close();
        }
      }
      release();
      sender.close();
      while (result.whole === undefined) await settle();
      assert(socket.text.startsWith(HEAD));
      const wire = Uint8Array.from(socket.writes.flatMap((bytes) => [...bytes]));
      const sent = wire.subarray(HEAD.length);
      if (chunked) {
        const chunks = new ChunkedDecoder();
        assertEquals([...chunks.push(sent)], given);
        assert(chunks.done);
        // One end and nothing behind it.
        assertEquals([...wire.slice(-5)], [...new TextEncoder().encode("0\r\n\r\n")]);
      } else {
        assertEquals([...sent], given);
      }
      assertEquals([result.whole, body.cancelled], [true, 0]);
      // Once at the start, once at the end, for each ask, and for what had to wait.
      assert(body.resumed <= resumes, `resumed ${body.resumed} times, wanted at most ${resumes}`);
    }),
  );
});
