import { quote } from "../../lib/errors.ts";

const BUFFER_BYTES = 4096;

/**
 * Reads one stream to its end and forgets it: the server keeps the times. Plain socket reads, since a reader that
 * takes as much CPU as `fetch` (40 µs a read) would make the tokens late on a small machine.
 *
 * @param id under which the server records the stream
 * @throws {Error} when the server answers with another status than 200
 */
export async function drain(url: string, path: string, id: string): Promise<void> {
  const { hostname, port } = new URL(url);
  using socket = await Deno.connect({ hostname, port: Number(port) });
  const head =
    `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nX-Request-Id: ${id}\r\nConnection: close\r\n\r\n`;
  await socket.write(new TextEncoder().encode(head));
  const buffer = new Uint8Array(BUFFER_BYTES);
  // The head of an answer on this machine comes in one piece.
  const size = await socket.read(buffer) ?? 0;
  const [statusLine] = new TextDecoder().decode(buffer.subarray(0, size)).split("\r\n");
  if (!/^HTTP\/1\.1 200\b/.test(statusLine)) {
    throw new Error(`${path}: wanted status 200, got ${statusLine === "" ? "nothing" : quote(statusLine)}`);
  }
  while (await socket.read(buffer) !== null);
}
