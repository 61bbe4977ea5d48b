/**
 * The reason phrases of a status line, by status (RFC 9110, 15). They are optional; these are what one reads in a
 * terminal.
 */
const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  204: "No Content",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  413: "Content Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  505: "HTTP Version Not Supported",
};

/** Statuses that never have a body. */
const BODILESS = /^(1..|204|304)$/;

/** What this server says itself about the connection. */
const OWN = /^(connection|keep-alive|transfer-encoding|date|content-length)$/;

/** How the end of a body is known: its bytes, chunks, the end of the connection; or there is none. */
export type BodyFraming = number | "chunked" | "close" | "none";

export function bodiless(method: string, status: number): boolean {
  return method === "HEAD" || BODILESS.test(String(status));
}

/** The head of an answer, its blank line included. Each character is a byte. */
export function responseHead(response: Response, framing: BodyFraming, close: boolean): string {
  const status = response.status || 500;
  let head = `HTTP/1.1 ${status} ${response.statusText || REASONS[status] || ""}\r\n`;
  // Headers hold no line end, the platform sees to that; each name is there once, but for set-cookie. Not iterated: that
  // costs 7 µs, and this 1.
  response.headers.forEach((value, name) => {
    if (!OWN.test(name)) head += `${name}: ${value}\r\n`;
  });
  const length = response.headers.get("content-length");
  if (typeof framing === "number") head += `content-length: ${framing}\r\n`;
  else if (framing === "chunked") head += "transfer-encoding: chunked\r\n";
  else if (framing === "none" && length !== null && status !== 204) head += `content-length: ${length}\r\n`;
  if (close) head += "connection: close\r\n";
  return `${head}date: ${httpDate()}\r\n\r\n`;
}

let madeFor = -1;
let made = "";

/** The time as a Date header has it, made once a second. */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== madeFor) {
    madeFor = second;
    made = new Date(second * 1000).toUTCString();
  }
  return made;
}
