import { type Context, Hono } from "hono";
import { MAX_MODEL_LEN } from "../../lib/config.ts";
import type { ListedModel } from "../../lib/engine/engine.ts";
import { quote, TapError } from "../../lib/errors.ts";
import type { Deps, Env } from "../deps.ts";
import { onlyMethods } from "../errors.ts";
import { noSuchModel, servedModel } from "../served_model.ts";

/**
 * `GET /v1/models` and `GET /v1/models/NAME`: the one model that this server has, or those of an upstream server where
 * its clients choose among them.
 */
export function modelsRoutes({ engine, settings }: Deps): Hono<Env> {
  const started = Math.floor(Date.now() / 1000);
  const owner = engine.models === undefined ? "tokentap" : "upstream";
  const model = ({ id, created = started, owned_by = owner, max_model_len }: ListedModel) => {
    const most = Math.min(settings.maxModelLen, max_model_len ?? engine.contextLength ?? Infinity);
    // Not known of an upstream server's model, unless it says so or a limit was set.
    const known = !engine.remote || most < MAX_MODEL_LEN;
    return { id, object: "model", created, owned_by, ...(known ? { max_model_len: most } : {}) };
  };
  const ours = { id: servedModel({ engine, settings }) };
  const all = async (c: Context<Env>) => await engine.models?.(c.req.raw.signal) ?? [ours];
  const one = async (c: Context<Env>, name: string) => {
    if (engine.models === undefined) {
      if (name !== ours.id) throw noSuchModel(name, ours.id);
      return ours;
    }
    const found = (await all(c)).find(({ id }) => id === name);
    if (found !== undefined) return found;
    throw new TapError("not_found", `The upstream server has no model ${quote(name, 80)}.`, {
      param: "model",
    });
  };
  return new Hono<Env>()
    .get("/v1/models", async (c) => c.json({ object: "list", data: (await all(c)).map(model) }))
    // Names have slashes: "org/model".
    .get("/v1/models/:model{.+}", async (c) => c.json(model(await one(c, c.req.param("model")))))
    .all("/v1/models", onlyMethods("GET"))
    .all("/v1/models/:model{.+}", onlyMethods("GET"));
}
