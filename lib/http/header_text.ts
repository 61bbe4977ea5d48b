/** It leaves a byte order mark in its place: gone, it would let pass what stands behind it. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

// deno-lint-ignore no-control-regex
const ASCII = /^[\x00-\x7f]*$/;

/** Each byte as the character with its number; TextDecoder's "latin1" is windows-1252, which a header's value cannot hold. */
export function latin1(bytes: Uint8Array): string {
  // Nearly every head is ASCII, on which UTF-8 agrees, and its decoder is three times as fast from 200 bytes on.
  let text = decoder.decode(bytes);
  if (ASCII.test(text)) return text;
  text = "";
  for (let at = 0; at < bytes.length; at += 4096) {
    // Not spread, which would walk an iterator.
    text += String.fromCharCode.apply(null, bytes.subarray(at, at + 4096) as unknown as number[]);
  }
  return text;
}

/** `head`, each character a byte, and what follows it, as one array: to make one takes longer than to fill it. */
export function withHead(head: string, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(head.length + body.length);
  // The encoder is 10 times as fast, but would make two bytes of a character above ASCII.
  if (ASCII.test(head)) encoder.encodeInto(head, bytes);
  else for (let i = 0; i < head.length; i++) bytes[i] = head.charCodeAt(i);
  bytes.set(body, head.length);
  return bytes;
}

/**
 * What stands from `from` to `to`, without the blanks around it that HTTP knows: space and tab. A pattern for them takes
 * the square of their number: 5 s for 64 KiB.
 */
export function trimmed(text: string, from: number, to = text.length): string {
  let start = from;
  let end = to;
  while (start < end && blank(text.charCodeAt(start))) start++;
  while (start < end && blank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function blank(code: number): boolean {
  return code === 32 || code === 9;
}
