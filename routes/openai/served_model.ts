import { quote, TapError } from "../../lib/errors.ts";
import type { Deps } from "../deps.ts";

type Serving = Pick<Deps, "engine" | "settings">;

/** The name under which clients see the model. */
export function servedModel({ engine, settings }: Serving): string {
  return engine.remote ? settings.upstreamModel || settings.model : settings.model;
}

/**
 * The name to answer with. An upstream server decides itself which models it has; otherwise there is one, and a
 * request for another is answered like vLLM does, with 404: a client that believes to talk to another model
 * should learn that at once. A request that names none gets the one there is.
 */
export function modelFor(deps: Serving, asked: string | null | undefined): string {
  const served = servedModel(deps);
  if (deps.engine.remote) return asked ?? served;
  if (asked === null || asked === undefined || asked === served) return served;
  throw new TapError(
    "not_found",
    `The model ${quote(asked, 80)} does not exist; this server has ${quote(served, 80)}.`,
    {
      param: "model",
    },
  );
}
