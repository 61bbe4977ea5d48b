/** What a failed assertion throws. */
export class AssertionError extends Error {
  override name = "AssertionError";
}

/** The caller's own message, as the tail of the standard one. */
export function suffix(msg: string | undefined): string {
  return msg ? `: ${msg}` : ".";
}

/** A value as a message shows it: on one line when it is short. */
export function show(value: unknown): string {
  return Deno.inspect(value, {
    depth: 10,
    strAbbreviateSize: 500,
    sorted: true,
    trailingComma: true,
  });
}
