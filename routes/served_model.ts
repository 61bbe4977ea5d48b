import { quote, TapError } from "../lib/errors.ts";
import type { Deps } from "./deps.ts";

type Serving = Pick<Deps, "engine" | "settings">;

/** The name under which clients see the model that answers a request for `asked`. */
export function servedModel({ engine, settings }: Serving, asked?: string | null): string {
  return engine.remote ? settings.upstreamModel || (asked ?? settings.model) : settings.model;
}

/**
 * The same, for a request that has to name it rightly. An upstream server decides itself which models it has, and where
 * all requests go to one of them, clients need not know its name. Otherwise there is one, and a request for another is
 * answered like vLLM does, with 404: a client that believes to talk to another model should learn that at once. A
 * request that names none gets the one there is.
 */
export function modelFor(deps: Serving, asked: string | null | undefined): string {
  const served = servedModel(deps, asked);
  if (!deps.engine.remote && asked !== null && asked !== undefined && asked !== served) {
    throw noSuchModel(asked, served);
  }
  return served;
}

export function noSuchModel(asked: string, served: string): TapError {
  return new TapError(
    "not_found",
    `The model ${quote(asked, 80)} does not exist; this server has ${quote(served, 80)}.`,
    { param: "model" },
  );
}
