import type { Context, ErrorHandler, MiddlewareHandler, NotFoundHandler } from "hono";
import { publicError, quote, TapError } from "../lib/errors.ts";
import { openaiError } from "../lib/stream/openai_error.ts";
import type { Deps, Env } from "./deps.ts";

/**
 * An error as a response while no byte is out: one shape for every own endpoint, and that of the OpenAI API for what
 * lies below `/v1`, whoever throws it.
 */
function errorResponse(error: TapError, path: string): Response {
  const { code, message, param } = error;
  const shown = path === "/v1" || path.startsWith("/v1/")
    ? openaiError(error)
    : { error: { code, message, param } };
  const headers = new Headers({ "Content-Type": "application/json", "Cache-Control": "no-store" });
  if (error.retryAfter !== undefined) headers.set("Retry-After", String(error.retryAfter));
  if (error.allow !== undefined) headers.set("Allow", error.allow);
  return new Response(JSON.stringify(shown), { status: error.status, headers });
}

/** Everything thrown in a route ends here. */
export function answerError({ onUnexpected, onRefused }: Deps): ErrorHandler<Env> {
  return (thrown, c) => {
    const error = publicError(thrown);
    const id = c.get("requestId");
    if (error.cause === thrown) onUnexpected(id, thrown);
    // A shutdown tells of itself, once.
    else if (error.status >= 500 && error.code !== "shutting_down" && !c.get("begun")) {
      // Who has left has ended what failed then.
      if (!c.req.raw.signal.aborted) onRefused(id, error);
    }
    return errorResponse(error, c.req.path);
  };
}

export const notFound: NotFoundHandler<Env> = (c) =>
  errorResponse(new TapError("not_found", `There is nothing at ${quote(c.req.path, 80)}.`), c.req.path);

/** Registered behind a path's handlers: the path exists, the method does not. */
export function onlyMethods(...methods: string[]): MiddlewareHandler<Env> {
  // hono answers HEAD by the handler of GET.
  const allow = [...methods.flatMap((method) => method === "GET" ? ["GET", "HEAD"] : [method]), "OPTIONS"]
    .join(", ");
  return (c: Context<Env>) => {
    if (c.req.method === "OPTIONS") {
      return Promise.resolve(new Response(null, { status: 204, headers: { Allow: allow } }));
    }
    throw new TapError(
      "method_not_allowed",
      `${quote(c.req.method)} is not possible here; wanted ${methods.join(" or ")}.`,
      {
        allow,
      },
    );
  };
}
