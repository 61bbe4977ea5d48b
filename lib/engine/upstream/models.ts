import { requestBytes } from "../../http/head.ts";
import { isCount, isObject } from "../../json.ts";
import type { ListedModel } from "../engine.ts";
import type { Clock } from "../pacer.ts";
import type { UpstreamLimits } from "./deadlines.ts";
import { type Connect, Exchange } from "./exchange.ts";
import { brokenExchange, tooLate } from "./failures.ts";
import { Link } from "./link.ts";
import { refusal } from "./refusal.ts";
import { ourHeaders, type Upstream } from "./request.ts";

/** Room for a few thousand models. */
const MAX_BYTES = 1024 * 1024;
const MAX_NAME_LENGTH = 256;

/**
 * The models that the upstream server has. Ends with its socket when `signal` aborts, or when connecting and its
 * silence have taken longer than they may. Throws a `TapError` with the status that fits.
 */
export async function listModels(
  connect: Connect,
  upstream: Upstream,
  limits: UpstreamLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  const link = new Link();
  const close = () => link.close();
  const withinMs = limits.connectMs + limits.idleMs;
  let late = false;
  const deadline = {
    fire() {
      late = true;
      close();
    },
  };
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  clock.at(clock.now() + withinMs, deadline);
  try {
    const exchange = new Exchange(await link.open(connect));
    const url = new URL(`${upstream.url}/models`);
    const { status, headers } = await exchange.send(
      requestBytes("GET", url, ourHeaders(upstream, "application/json"), undefined),
    );
    const text = await exchange.beginning(MAX_BYTES);
    // No model was asked for, so a 404 cannot be of one: its text is left out.
    if (status !== 200) throw refusal(status, headers, status === 404 ? "" : text, false);
    return parseModels(text);
  } catch (error) {
    if (late) throw tooLate("did not list its models", withinMs);
    throw brokenExchange("gave no list of its models", error);
  } finally {
    clock.cancel(deadline);
    signal.removeEventListener("abort", close);
    close();
  }
}

/** Only what is known of a model is handed on. */
function parseModels(text: string): ListedModel[] {
  const list: unknown = JSON.parse(text);
  if (!isObject(list) || !Array.isArray(list.data)) throw new Error("wanted a list of models");
  return list.data.filter(isObject).flatMap(({ id, created, owned_by, max_model_len }): ListedModel[] =>
    !isName(id) ? [] : [{
      id,
      ...(isCount(created) ? { created } : {}),
      ...(isName(owned_by) ? { owned_by } : {}),
      ...(isCount(max_model_len) ? { max_model_len } : {}),
    }]
  );
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_NAME_LENGTH;
}
