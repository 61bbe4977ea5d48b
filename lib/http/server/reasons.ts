/** Of the answers that the server gives by itself, to requests that no handler sees. */
export const REFUSAL_REASONS = {
  400: "Bad Request",
  408: "Request Timeout",
  414: "URI Too Long",
  431: "Request Header Fields Too Large",
  501: "Not Implemented",
  505: "HTTP Version Not Supported",
} as const;

/** What a request can be refused with. */
export type RefusalStatus = keyof typeof REFUSAL_REASONS;

/**
 * Of the answers of handlers, which have no need to say what is wrong with a head. Reasons are optional; these are what
 * one reads in a terminal.
 */
export const REASONS: Record<number, string> = {
  200: "OK",
  201: "Created",
  204: "No Content",
  304: "Not Modified",
  400: REFUSAL_REASONS[400],
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: REFUSAL_REASONS[408],
  413: "Content Too Large",
  415: "Unsupported Media Type",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: REFUSAL_REASONS[501],
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};
