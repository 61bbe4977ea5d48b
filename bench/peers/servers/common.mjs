// What the JavaScript peers share: the token table, the frames and the query, so that all do the same work.
import { readFileSync } from "node:fs";
import { argv } from "node:process";

export const WORDS = JSON.parse(
  readFileSync(new URL("./words.json", import.meta.url), "utf8"),
);

export const HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};

export const DONE = "[DONE]";

/** The JSON of token `index`; made anew each time, as for a token that has just been produced. */
export function payload(index) {
  return JSON.stringify({ token: WORDS[index % WORDS.length] });
}

export function frame(data) {
  return `data: ${data}\n\n`;
}

/** `get` reads one query parameter as text. */
export function readQuery(get) {
  return {
    tokens: Number(get("max_tokens") ?? 128),
    ttftMs: Number(get("ttft_ms") ?? 200),
    itlMs: Number(get("itl_ms") ?? 20),
  };
}

/** The port from `--port N`. */
export function readPort() {
  return Number(argv[argv.indexOf("--port") + 1]);
}
