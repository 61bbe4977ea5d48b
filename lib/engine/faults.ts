import {
  codeOfStatus,
  ERROR_STATUS,
  type ErrorCode,
  isErrorCode,
  quote,
  TapError,
  type TapErrorOptions,
} from "../errors.ts";

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

/** What `stall@N` without a time means. */
const STALL_MS = 3_600_000;

/** Longest silence that can be asked for: a day. */
const MAX_SILENCE_MS = 86_400_000;

/** Beyond any answer. */
const MAX_AT = 9_999_999;

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

function whole(text: string | undefined, what: string, most: number, kind: FaultKind, came: string): number {
  const value = text !== undefined && /^\d+$/.test(text) ? Number(text) : NaN;
  if (value <= most) return value;
  refuse(`${FAULT_FORMS[kind]}, ${what} a whole number up to ${most}`, came);
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
    if (where !== undefined || !/^[45]\d\d$/.test(argument ?? "")) {
      refuse(`${form} with a CODE from 400 to 599`, came);
    }
    return { kind, at: 0, status: Number(argument) };
  }
  const at = whole(where, "N", MAX_AT, kind, came);
  switch (kind) {
    case "error": {
      const code = argument ?? "internal";
      if (!isErrorCode(code)) refuse(`${form} with a code of ${Object.keys(ERROR_STATUS).join(", ")}`, came);
      return { kind, at, code };
    }
    case "stall":
    case "slow": {
      const endless = kind === "stall" && argument === undefined;
      return { kind, at, ms: endless ? STALL_MS : whole(argument, "ms", MAX_SILENCE_MS, kind, came) };
    }
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

/** Kinds that are a silence before token N, and before whatever else was asked for there. */
export function isSilence(kind: FaultKind): kind is "stall" | "slow" {
  return kind === "stall" || kind === "slow";
}

/** Milliseconds of silence asked for before the token at `index`. */
export function silenceAt(faults: readonly Fault[], index: number): number {
  return faults.reduce((ms, fault) => "ms" in fault && fault.at === index ? ms + fault.ms : ms, 0);
}

/**
 * What a request is refused with before it starts, and after how much silence. Undefined when nothing refuses it, or
 * something else is to happen to its stream first: then the refusal is an error event.
 */
export function refusalOf(faults: readonly Fault[]): { error: TapError; afterMs: number } | undefined {
  const first = faults.find(({ at, kind }) => at === 0 && kind !== "split" && !isSilence(kind));
  if (first?.kind !== "status" && first?.kind !== "error") return undefined;
  const error = first.kind === "status" ? statusFault(first.status) : injectedError(first);
  return { error, afterMs: silenceAt(faults, 0) };
}

/** What `status:CODE` refuses with. */
export function statusFault(status: number): TapError {
  const code = codeOfStatus(status);
  return new TapError(code, `The fault status:${status} was asked for.`, { status, ...told(status) });
}

/** What `error@N[:code]` fails with. */
export function injectedError({ code, at }: Fault & { kind: "error" }): TapError {
  return new TapError(code, `The fault error@${at} was asked for.`, told(ERROR_STATUS[code]));
}

/** What a real refusal with this status tells besides: the seconds to wait, or the methods there are. */
function told(status: number): TapErrorOptions {
  if (status === 429 || status === 503) return { retryAfter: 1 };
  return status === 405 ? { allow: "OPTIONS" } : {};
}
