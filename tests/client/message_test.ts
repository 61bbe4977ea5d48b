import { assertEquals } from "@std/assert";
import { messageOf } from "../../lib/client/message.ts";

Deno.test("an error says its causes too, in order, each once", () => {
  const refused = new Error("connect: Connection refused");
  assertEquals(
    messageOf(new TypeError("fetch failed", { cause: refused })),
    "fetch failed: connect: Connection refused",
  );
  assertEquals(messageOf(new Error("cut off: reset", { cause: new Error("reset") })), "cut off: reset");
  const several = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
  assertEquals(messageOf(new TypeError("fetch failed", { cause: several })), "fetch failed: ECONNREFUSED");
});

Deno.test("what is no error, says nothing or is its own cause still gives a message", () => {
  assertEquals(messageOf("gone"), "gone");
  assertEquals(messageOf(new Error("")), "Error");
  const circle = new Error("round");
  circle.cause = circle;
  assertEquals(messageOf(circle), "round");
});
