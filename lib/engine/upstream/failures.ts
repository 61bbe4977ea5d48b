import { quote, TapError } from "../../errors.ts";
import { CodedBody } from "../../http/framing.ts";
import { isObject, type Json } from "../../json.ts";
import { HandshakeError } from "./exchange.ts";

const MAX_DETAIL_LENGTH = 300;

/** A failure of the connection, in the words of what was being done. The cause may hold addresses: it is not sent. */
export function connectionError(doing: string, cause?: unknown): TapError {
  return new TapError("upstream_error", `The upstream server ${doing}.`, { cause });
}

/** The same for what was thrown on the way: a `TapError` as it is, and a body that is whole but not to be read by its own name. */
export function brokenExchange(doing: string, thrown: unknown): TapError {
  if (thrown instanceof TapError) return thrown;
  if (!(thrown instanceof CodedBody)) return connectionError(doing, thrown);
  return connectionError(`answered in a form that was not asked for: ${thrown.message}`, thrown);
}

/** No connection came about. What the runtime says of it holds addresses, so only its kind is told. */
export function notConnected(cause: unknown): TapError {
  const untrusted = cause instanceof HandshakeError;
  return connectionError(
    untrusted ? "cannot be trusted: its TLS handshake failed" : "cannot be reached",
    cause,
  );
}

/** A time limit, in milliseconds, that was not kept, in the words of what the server did within it. */
export function tooLate(what: string, ms: number): TapError {
  return new TapError("upstream_timeout", `The upstream server ${what} within ${ms / 1000} s.`);
}

/** The message of an error in one of its known shapes, quoted: its first line, without control characters. */
export function messageOf(error: unknown): string {
  const { message, detail }: Json = isObject(error) ? error : {};
  const text = [error, message, detail, faultOf(detail ?? error)].find((each) => typeof each === "string");
  const first = text?.trim().split(/[\r\n\u2028\u2029]/, 1)[0] ?? "";
  return first === "" || first.startsWith("<") ? "" : quote(first, MAX_DETAIL_LENGTH);
}

/** Of FastAPI's list of what is wrong with a request, the first: what, and where. */
function faultOf(detail: unknown): string | undefined {
  const fault: unknown = Array.isArray(detail) ? detail[0] : undefined;
  if (!isObject(fault) || typeof fault.msg !== "string") return undefined;
  const path = Array.isArray(fault.loc) ? fault.loc.slice(0, MAX_STEPS).filter(isStep) : [];
  return path.length === 0 ? fault.msg : `${path.join(".")}: ${fault.msg}`;
}

/** Of a path into a request; what is longer is no field that anyone has written. */
const MAX_STEPS = 10;

function isStep(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}
