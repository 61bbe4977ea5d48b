import { Hono } from "hono";
import { debugRoutes } from "./debug.ts";
import type { Deps, Env } from "./deps.ts";
import { answerError, notFound } from "./errors.ts";
import { generateRoutes } from "./generate.ts";
import { healthRoutes } from "./health.ts";
import { chatRoutes } from "./openai/chat.ts";
import { completionsRoutes } from "./openai/completions.ts";
import { modelsRoutes } from "./openai/models.ts";
import { requestId } from "./request_id.ts";
import { streamRoutes } from "./stream.ts";

/** The whole service as one `fetch` function. It never listens, and does the same without a socket. */
export function createApp(deps: Deps): Hono<Env> {
  const app = new Hono<Env>();
  app.use(requestId);
  app.route("/", healthRoutes(deps));
  app.route("/", generateRoutes(deps));
  app.route("/", streamRoutes(deps));
  app.route("/", chatRoutes(deps));
  app.route("/", completionsRoutes(deps));
  app.route("/", modelsRoutes(deps));
  app.route("/", debugRoutes(deps));
  app.notFound(notFound);
  app.onError(answerError(deps));
  return app;
}
