/** Those that something behind this server may have. */
const METHODS = "GET, HEAD, POST, OPTIONS";

/** The answer to `OPTIONS *`, which asks what the server can do, whatever the path (RFC 9110, 9.3.7). */
export function aboutServer(): Response {
  return new Response(null, { status: 204, headers: { Allow: METHODS } });
}
