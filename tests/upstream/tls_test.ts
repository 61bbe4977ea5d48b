import { assertEquals } from "@std/assert";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { AUTHORITY, CERTIFICATE, KEY } from "../helpers/certificate.ts";
import { postJson } from "../helpers/post_json.ts";
import { SSE_HEAD } from "../helpers/raw_server.ts";
import { delta, DONE, finish } from "../helpers/scripted_upstream.ts";
import { spawnServiceIn } from "../helpers/spawned_service.ts";

/** An upstream that speaks TLS and says "a" and "b" to everyone. */
async function tlsUpstream() {
  const server = createServer({ cert: CERTIFICATE, key: KEY }, (socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write(SSE_HEAD + delta("a") + delta("b") + finish() + DONE));
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", () => resolve()));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What a service with this environment answers over the upstream at `host`. A process reads whom it trusts only once. */
async function through(env: Record<string, string>, host: string, port: number) {
  await using service = await spawnServiceIn(
    env,
    ...["--engine", "upstream", "--upstream-url", `https://${host}:${port}/v1`],
  );
  const { status, json } = await postJson(`${service.url}/generate`, { prompt: "hello" });
  return [status, json.text ?? json.error.message];
}

const UNTRUSTED = [502, "The upstream server cannot be trusted: its TLS handshake failed."];

Deno.test("an upstream over TLS is spoken to if an authority we trust names it, and only then", async () => {
  await using upstream = await tlsUpstream();
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, AUTHORITY);
    const trusting = { DENO_CERT: file };
    assertEquals(await through(trusting, "127.0.0.1", upstream.port), [200, "ab"]);
    assertEquals(await through(trusting, "localhost", upstream.port), [200, "ab"]);
    assertEquals(await through(trusting, "127.1.0.1", upstream.port), UNTRUSTED);
    // Node's way to trust everyone is not ours.
    assertEquals(
      await through({ NODE_TLS_REJECT_UNAUTHORIZED: "0" }, "127.0.0.1", upstream.port),
      UNTRUSTED,
    );
  } finally {
    await Deno.remove(file);
  }
});
