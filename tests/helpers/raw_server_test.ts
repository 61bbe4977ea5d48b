import { assertEquals, assertRejects } from "@std/assert";
import { type End, rawServer } from "./raw_server.ts";

/** Sends a request head and reads to the end of the connection. */
async function exchange(url: string): Promise<string> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) });
  await conn.write(new TextEncoder().encode("GET /x HTTP/1.1\r\nHost: t\r\n\r\n"));
  let text = "";
  const buffer = new Uint8Array(100);
  for (let n; (n = await conn.read(buffer)) !== null;) {
    text += new TextDecoder().decode(buffer.subarray(0, n));
  }
  return text;
}

Deno.test("the raw server writes exactly its pieces and ends by FIN, or by a real RST", async () => {
  const script = (end: End) => ({ steps: ["a", 5, new Uint8Array([98, 99]), 20], end });
  await using fin = await rawServer(script("fin"));
  assertEquals(await exchange(fin.url), "abc");
  assertEquals(fin.requests[0].head, "GET /x HTTP/1.1\r\nHost: t\r\n\r\n");
  await using reset = await rawServer(script("reset"));
  await assertRejects(() => exchange(reset.url), Deno.errors.ConnectionReset);
});

Deno.test("the raw server notices at once that its peer has closed, also in the middle of a wait", async () => {
  await using server = await rawServer({ steps: ["a", 60_000], end: "hold" });
  using conn = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(server.url).port) });
  await conn.write(new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"));
  await conn.read(new Uint8Array(1));
  await conn.closeWrite();
  await server.requests[0].closed;
});
