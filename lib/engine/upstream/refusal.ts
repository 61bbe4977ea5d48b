import { quote, TapError, type TapErrorOptions } from "../../errors.ts";
import { isObject, type Json } from "../../json.ts";
import type { Clock } from "../pacer.ts";
import type { Exchange } from "./exchange.ts";
import { connectionError, messageOf } from "./failures.ts";

export function isTokenStream(headers: Headers): boolean {
  return /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");
}

/** How much of a refusal's body is read for its message, and for how long at most. */
const MAX_TEXT_BYTES = 16 * 1024;
const TEXT_MS = 1000;

/** What of a refusal's body may hold its message; nothing where it has none, or its text is not told. */
export async function refusalText(
  status: number,
  exchange: Exchange,
  clock: Clock,
  hangUp: () => void,
): Promise<string> {
  if (status === 204 || (status >= 300 && status < 400) || isAboutKey(status)) return "";
  const timer = { fire: hangUp };
  clock.at(clock.now() + TEXT_MS, timer);
  const text = await exchange.beginning(MAX_TEXT_BYTES);
  clock.cancel(timer);
  return text;
}

function isAboutKey(status: number): boolean {
  return status === 401 || status === 403 || status === 407;
}

/**
 * What the client is told of a response that is no token stream. Statuses about the request stay what they are; those
 * about us (our key, our address, our model name) become 502, since the client can do nothing about them.
 *
 * @param body the beginning of the response's body
 * @param ourModel the model asked for is that of the settings, not the client's
 */
export function refusal(status: number, headers: Headers, body: string, ourModel: boolean): TapError {
  if (status < 300) {
    const type = headers.get("content-type") ?? "no content type";
    const detail = status === 200 ? detailOf(body, true) : "";
    return failed(
      `The upstream server answered ${status}: wanted text/event-stream, got ${quote(type)}${detail}.`,
    );
  }
  if (status < 400) {
    const why = status === 304 ? "nothing was asked of a cache" : "a redirect is not followed";
    return failed(`The upstream server answered ${status}; ${why}.`);
  }
  const detail = detailOf(body, false);
  const message = `The upstream server answered ${status}${detail}.`;
  if (status === 404 && !namesModel(detail)) {
    return failed(
      `${message} It has no such route: does --upstream-url end in /v1, or wherever its API begins?`,
    );
  }
  const options: TapErrorOptions = {};
  const retryAfter = secondsOf(headers.get("retry-after"));
  if (retryAfter !== undefined) options.retryAfter = retryAfter;
  return ofStatus(status, message, body, ourModel, options);
}

/**
 * What the client is told of an error inside the upstream's stream: as of a refusal with the status that it names, for
 * some find out only then that they have to refuse.
 *
 * @param ourModel the model asked for is that of the settings, not the client's
 */
export function streamError(error: unknown, ourModel: boolean): TapError {
  const text = messageOf(error);
  const doing = `reported an error${text === "" ? "" : `: ${text}`}`;
  const status = statusOf(error);
  if (status === undefined || (status === 404 && !namesModel(text))) return connectionError(doing);
  return ofStatus(status, `The upstream server ${doing}.`, text, ourModel, {});
}

/** The status of a refusal that an error names, as a number or in digits. */
function statusOf(error: unknown): number | undefined {
  const { code, status }: Json = isObject(error) ? error : {};
  const named = [code, status].find((each) => /^[45]\d\d$/.test(String(each)));
  return named === undefined ? undefined : Number(named);
}

/** That a 404 is of a model the upstream does not have. Any other address is of our making; the word may stand in it. */
function namesModel(text: string): boolean {
  return /\bmodel\b/i.test(text.replace(/\S*\/\S*/g, ""));
}

/** @param said all that the upstream says of it */
function ofStatus(
  status: number,
  message: string,
  said: string,
  ourModel: boolean,
  options: TapErrorOptions,
): TapError {
  if (isAboutKey(status)) {
    // Its text often quotes a part of the key.
    return failed(`The upstream server refused this server's key (${status}).`);
  }
  switch (status) {
    case 400:
    case 422:
      if (/context[_ ]length|maximum context|context size/i.test(said)) {
        return new TapError("context_length", message);
      }
      return new TapError("invalid_request", message);
    case 404:
      if (ourModel) return failed(`${message} Its name is that of --upstream-model.`);
      return new TapError("not_found", message, { param: "model" });
    case 413:
      return new TapError("too_large", message);
    case 429:
      return new TapError("rate_limit", message, options);
    case 503:
    case 529:
      return new TapError("overloaded", message, options);
    case 408:
    case 504:
      return new TapError("upstream_timeout", message, options);
  }
  return new TapError("upstream_error", message, options);
}

function failed(message: string): TapError {
  return new TapError("upstream_error", message);
}

/** `: "text"` of a JSON error body; nothing of any other body, HTML least of all. */
function detailOf(body: string, errorsOnly: boolean): string {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return "";
  }
  if (!isObject(json)) return "";
  const { error } = json;
  const text = error !== undefined && error !== null ? messageOf(error) : errorsOnly ? "" : messageOf(json);
  return text === "" ? "" : `: ${text}`;
}

/** Whole seconds of a `Retry-After`, which may be a date. Some send fractions, which the rules do not have. */
function secondsOf(value: string | null): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d{1,6}(\.\d+)?$/.test(text)) return Math.ceil(Number(text));
  // Date.parse alone takes "-5" and "2.5" for dates.
  if (!/\bGMT$/.test(text)) return undefined;
  const seconds = Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}
