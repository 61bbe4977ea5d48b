import { Hono } from "hono";
import { MOST_MODEL_LEN } from "../../lib/config.ts";
import type { Deps, Env } from "../deps.ts";
import { onlyMethods } from "../errors.ts";
import { modelFor, servedModel } from "./served_model.ts";

/** `GET /v1/models` and `GET /v1/models/NAME`: the one model that this server has. */
export function modelsRoutes(deps: Deps): Hono<Env> {
  const { engine, settings } = deps;
  const created = Math.floor(Date.now() / 1000);
  const model = (id: string) => ({
    id,
    object: "model",
    created,
    owned_by: "tokentap",
    // Not known of an upstream server's model, unless a limit was set.
    ...(engine.remote && settings.maxModelLen === MOST_MODEL_LEN
      ? {}
      : { max_model_len: Math.min(settings.maxModelLen, engine.contextLength ?? Infinity) }),
  });
  return new Hono<Env>()
    .get("/v1/models", (c) => c.json({ object: "list", data: [model(servedModel(deps))] }))
    // Names have slashes: "org/model".
    .get("/v1/models/:model{.+}", (c) => c.json(model(modelFor(deps, c.req.param("model")))))
    .all("/v1/models", onlyMethods("GET"))
    .all("/v1/models/:model{.+}", onlyMethods("GET"));
}
