import { Hono } from "hono";
import { z } from "zod";
import { quote, TapError } from "../lib/errors.ts";
import type { Deps, Env } from "./deps.ts";
import { onlyMethods } from "./errors.ts";
import { queryOf } from "./query.ts";

const RecordQuery = z.object({ tokens: z.enum(["0", "1"], { error: "wanted 0 or 1" }).default("0") });

/** `/_debug/*`: what the server really did. */
export function debugRoutes({ ledger, engine }: Deps): Hono<Env> {
  return new Hono<Env>()
    .get("/_debug/generated", (c) => {
      const { latest } = ledger;
      if (latest === undefined) throw new TapError("not_found", "No stream has been asked for yet.");
      return c.json({ ...latest.toJSON(), total_generated: ledger.totalGenerated });
    })
    .get("/_debug/requests", (c) => c.json({ requests: ledger.records().map((record) => record.toJSON()) }))
    .get("/_debug/requests/:id", (c) => {
      const query = queryOf(c, RecordQuery);
      const id = c.req.param("id");
      const record = ledger.find(id);
      if (record === undefined) {
        throw new TapError("not_found", `No record of a request ${quote(id)}.`, { param: "id" });
      }
      if (query.tokens === "0") return c.json(record.toJSON());
      const tokens = ledger.timesOf(record);
      // Of a very long answer the first are kept.
      const omitted = record.generated - (tokens?.length ?? 0);
      return c.json({ ...record.toJSON(), tokens, tokens_omitted: omitted });
    })
    .get("/_debug/totals", (c) => {
      const { max, in_use, queue } = engine.slots?.() ?? { max: null, in_use: null, queue: null };
      return c.json({ ...ledger.totals(), slots: { max, in_use }, queue });
    })
    .all("/_debug/generated", onlyMethods("GET"))
    .all("/_debug/requests", onlyMethods("GET"))
    .all("/_debug/requests/:id", onlyMethods("GET"))
    .all("/_debug/totals", onlyMethods("GET"));
}
