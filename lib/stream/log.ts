import type { Settings } from "../config.ts";
import { reasonOf, type TapError } from "../errors.ts";
import type { GenerationRecord } from "./record.ts";

type LogFormat = Settings["logFormat"];

/** One line for a finished generation. Never the prompt, never the text. */
export function generationLine(record: GenerationRecord, format: LogFormat, at: Date): string {
  const { id, route, outcome, requested, generated, ttft_ms, duration_ms, error } = record.toJSON();
  const fields = {
    id,
    route,
    outcome,
    requested,
    generated,
    ttft_ms,
    duration_ms,
    error,
    reason: record.reason,
  };
  return line("generation", fields, format, at);
}

/** The line that says where the service listens. */
export function listeningLine(url: string, engine: string, format: LogFormat, at: Date): string {
  if (format === "text") return `Tokentap listens on ${url} (engine ${engine})`;
  return line("listening", { url, engine }, format, at);
}

/** The line that says what a shutdown waits for, and how long at most (milliseconds). */
export function shutdownLine(running: number, graceMs: number, format: LogFormat, at: Date): string {
  if (format === "json") return line("shutting_down", { running, grace_ms: graceMs }, format, at);
  const what = running === 1 ? "one generation has" : `${running} generations have`;
  return `Tokentap shuts down when ${what} ended, in ${
    graceMs / 1000
  } s at most; a second signal stops it at once`;
}

/** One line for a request that failed before there was a generation, by no fault of its own. */
export function refusedLine(id: string, error: TapError, format: LogFormat, at: Date): string {
  const { status, code } = error;
  return line("refused", { id, status, error: code, reason: reasonOf(error) }, format, at);
}

/** One line for a throw that nobody expected. The text of the error is for the log only, and kept to one line. */
export function unexpectedLine(
  /** Of the request, or where in the server it was thrown when there is none. */
  where: { id: string } | { at: string },
  error: unknown,
  format: LogFormat,
  at: Date,
): string {
  const text = error instanceof Error ? error.stack ?? error.message : String(error);
  return line("unexpected", { ...where, error: text.slice(0, 4000) }, format, at);
}

function line(event: string, fields: Record<string, unknown>, format: LogFormat, at: Date): string {
  const time = at.toISOString();
  if (format === "json") return JSON.stringify({ time, event, ...fields });
  let text = `${time} ${event}`;
  for (const name in fields) {
    const value = fields[name];
    if (value === null || value === undefined) continue;
    text += ` ${name}=${typeof value === "string" && !PLAIN.test(value) ? JSON.stringify(value) : value}`;
  }
  return text;
}

/** What stands in a line of text as it is. */
const PLAIN = /^[\w./:@-]+$/;
