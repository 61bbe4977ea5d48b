/** A request as one array, so that it can be one write. */
export function requestBytes(
  method: string,
  url: URL,
  headers: Headers,
  body: string | undefined,
): Uint8Array {
  const bytes = new TextEncoder().encode(body ?? "");
  if (!headers.has("host")) headers.set("host", url.host);
  if (body !== undefined) headers.set("content-length", String(bytes.length));
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  for (const [name, value] of headers) head += `${name}: ${value}\r\n`;
  const headBytes = new TextEncoder().encode(head + "\r\n");
  const whole = new Uint8Array(headBytes.length + bytes.length);
  whole.set(headBytes);
  whole.set(bytes, headBytes.length);
  return whole;
}

/** Where the blank line that ends a head begins, or -1. */
export function endOfHead(bytes: Uint8Array): number {
  for (let i = 0; i + 3 < bytes.length; i++) {
    if (bytes[i] === 13 && bytes[i + 1] === 10 && bytes[i + 2] === 13 && bytes[i + 3] === 10) return i;
  }
  return -1;
}

/** @throws {Error} when the head is none of HTTP/1.x */
export function parseHead(head: string): { status: number; responseHeaders: Headers } {
  const [statusLine, ...lines] = head.split("\r\n");
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1];
  if (!status) throw new Error(`expected an HTTP/1.1 status line, got "${statusLine.slice(0, 80)}"`);
  const responseHeaders = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon > 0) responseHeaders.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return { status: Number(status), responseHeaders };
}
