import { codeOfStatus, ERROR_STATUS, type ErrorCode, isErrorCode, quote, TapError } from "../errors.ts";

/** A fault to inject, exact and without chance. `at` counts tokens before it: 0 is before the first. */
export type Fault =
  | { kind: "error"; at: number; code: ErrorCode }
  | { kind: "close" | "reset" | "malformed" | "split"; at: number }
  | { kind: "stall" | "slow"; at: number; ms: number }
  | { kind: "status"; at: 0; status: number };

export type FaultKind = Fault["kind"];

/** How each kind is written, for messages and documents. */
const FAULT_FORMS: Record<FaultKind, string> = {
  error: "error@N[:code]",
  close: "close@N",
  reset: "reset@N",
  stall: "stall@N[:ms]",
  malformed: "malformed@N",
  split: "split@N",
  slow: "slow@N:ms",
  status: "status:CODE",
};

/** Longest silence that can be asked for; also what `stall@N` without a time means. */
const STALL_MS = 3_600_000;

const MAX_FAULTS = 8;

/**
 * Thrown by the engine to have the stream ended without its end: `close` cleanly but with no `[DONE]`, `reset` by
 * tearing the connection down. There is no event for it, so it is no `TapError` that a format could write.
 */
export class CutStream extends TapError {
  readonly how: "close" | "reset";
  constructor(how: "close" | "reset", at: number) {
    super("injected_fault", `The fault ${how}@${at} was asked for.`);
    this.how = how;
  }
}

function refuse(wanted: string, came: string): never {
  throw new TapError("invalid_request", `fault: wanted ${wanted}, got ${quote(came)}.`, { param: "fault" });
}

function count(text: string | undefined, form: string, came: string): number {
  if (text === undefined || !/^\d{1,7}$/.test(text)) refuse(form, came);
  return Number(text);
}

/**
 * `"error@5"`, or several separated by commas (`"slow@3:200,error@5"`), as faults.
 * Throws `invalid_request` naming the known kinds.
 */
export function parseFaults(text: string): Fault[] {
  const written = text.split(",", MAX_FAULTS + 1);
  if (written.length > MAX_FAULTS) refuse(`at most ${MAX_FAULTS} faults`, text);
  return written.map(parseFault);
}

function parseFault(came: string): Fault {
  const match = /^([a-z]+)(?:@([^:]*))?(?::(.*))?$/s.exec(came.trim());
  const kind = match?.[1] as FaultKind | undefined;
  if (!match || kind === undefined || !Object.hasOwn(FAULT_FORMS, kind)) {
    refuse("one of " + Object.values(FAULT_FORMS).join(", "), came);
  }
  const [, , where, argument] = match;
  const form = FAULT_FORMS[kind];
  if (kind === "status") {
    const status = count(where === undefined ? argument : undefined, form, came);
    if (status < 400 || status > 599) refuse("status:CODE with a CODE from 400 to 599", came);
    return { kind, at: 0, status };
  }
  const at = count(where, form, came);
  switch (kind) {
    case "error": {
      const code = argument ?? "internal";
      if (!isErrorCode(code)) refuse(`${form} with a code of ${Object.keys(ERROR_STATUS).join(", ")}`, came);
      return { kind, at, code };
    }
    case "stall":
      return {
        kind,
        at,
        ms: argument === undefined ? STALL_MS : Math.min(STALL_MS, count(argument, form, came)),
      };
    case "slow":
      return { kind, at, ms: Math.min(STALL_MS, count(argument, form, came)) };
    default:
      if (argument !== undefined) refuse(form, came);
      return { kind, at };
  }
}

/** Kinds that are about how events are written: an answer given at once has no place for them. */
const STREAM_ONLY: readonly FaultKind[] = ["close", "reset", "malformed", "split"];

/** Throws `invalid_request` when `text` asks for none that is known, or for one that only a stream can have. */
export function checkFaults(text: string, streamed: boolean): void {
  const fault = parseFaults(text).find(({ kind }) => STREAM_ONLY.includes(kind));
  if (fault !== undefined && !streamed) {
    refuse(`one that needs no stream (${STREAM_ONLY.join(", ")} need one: ask for them on a stream)`, text);
  }
}

/** What `status:CODE` refuses with. */
export function statusFault(status: number): TapError {
  return new TapError(codeOfStatus(status), `The fault status:${status} was asked for.`, {
    status,
    retryAfter: retryAfter(status),
  });
}

/** What `error@N[:code]` fails with. */
export function injectedError(fault: Fault & { kind: "error" }): TapError {
  return new TapError(fault.code, `The fault error@${fault.at} was asked for.`, {
    retryAfter: retryAfter(ERROR_STATUS[fault.code]),
  });
}

/** Seconds, where the real refusal would tell them too. */
function retryAfter(status: number): number | undefined {
  return status === 429 || status === 503 ? 1 : undefined;
}
