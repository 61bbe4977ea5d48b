import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { parseOptions as peers } from "../../bench/peers/options.ts";
import { UsageError } from "../../bench/options.ts";

Deno.test("a process without the address of its server is refused by bench:peers: it would measure another", () => {
  const { message } = assertThrows(() => peers(["--pid", "7"]), UsageError);
  assertStringIncludes(message, "--pid: wanted --url with it");
  const options = peers(["--pid", "7", "--url", "http://127.0.0.1:1"]);
  assertEquals(options !== "help" && options.pid, 7);
});
