import type { ErrorCode, TapError } from "../errors.ts";

/** An error in the form of the OpenAI API. */
export interface OpenAIError {
  error: { message: string; type: string; param: string | null; code: string };
}

/** The codes that programs written for the OpenAI API look for; the others are our own. */
const CODES: Partial<Record<ErrorCode, string>> = {
  context_length: "context_length_exceeded",
  rate_limit: "rate_limit_exceeded",
  unauthorized: "invalid_api_key",
};

export function openaiError({ code, message, param, status }: TapError): OpenAIError {
  return { error: { message, type: typeOf(status), param, code: named(code, param) } };
}

function named(code: ErrorCode, param: string | null): string {
  if (code === "not_found" && param === "model") return "model_not_found";
  return CODES[code] ?? code;
}

function typeOf(status: number): string {
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}
