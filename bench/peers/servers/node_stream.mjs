// Writing an event stream to a node:http response (which express hands out too): a timer per stream when
// paced, else event by event until write() says the buffer is full, then on "drain", as Node's manual has it.
import { DONE, frame, payload } from "./common.mjs";

export function writeStream(response, query) {
  if (query.itlMs > 0) writePaced(response, query);
  else writeUnpaced(response, query);
}

function writePaced(response, { tokens, ttftMs, itlMs }) {
  let sent = 0;
  let interval;
  const next = () => {
    response.write(frame(payload(sent++)));
    if (sent < tokens) return;
    clearInterval(interval);
    response.end(frame(DONE));
  };
  const first = setTimeout(() => {
    interval = setInterval(next, itlMs);
    next();
  }, ttftMs);
  response.on("close", () => {
    clearTimeout(first);
    clearInterval(interval);
  });
}

function writeUnpaced(response, { tokens, ttftMs }) {
  let sent = 0;
  const write = () => {
    while (sent < tokens && !response.destroyed) {
      if (!response.write(frame(payload(sent++)))) {
        response.once("drain", write);
        return;
      }
    }
    if (!response.destroyed) response.end(frame(DONE));
  };
  const first = setTimeout(write, ttftMs);
  response.on("close", () => clearTimeout(first));
}
