/** Tokens that end a line, an event or a text where they are written without care. */
export const HOSTILE_TOKENS: readonly string[] = [
  "\n",
  "\r",
  "\r\n\r\n",
  "data: [DONE]",
  ":",
  "\u2028",
  "\0",
  '"}\n\ndata: {"x":1}',
];
