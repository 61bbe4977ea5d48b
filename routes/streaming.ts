import type { Context } from "hono";
import type { Generation } from "../lib/stream/generation.ts";
import type { Env } from "./deps.ts";

/**
 * How long the head of a stream is held back for an engine that may still refuse, in milliseconds: within it a
 * refusal is a real status, after it an event.
 */
const HEAD_WAIT_MS = 250;

/**
 * Waits until the engine has said whether the generation starts, but not longer than a quarter of a second (a second
 * more for what it says of a refusal that is known), and not for a client that leaves meanwhile: until the response is
 * returned, the request's signal is all that tells of that. Throws the engine's refusal.
 */
export async function headReady(c: Context<Env>, generation: Generation): Promise<void> {
  const { started } = generation;
  if (started === undefined) return;
  const { signal } = c.req.raw;
  const leave = () => generation.abort();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => timer = setTimeout(resolve, HEAD_WAIT_MS));
  try {
    await Promise.race([started, patience]);
    if (generation.refused) await started;
  } catch (error) {
    // The client has left, and the engine that ends on that has not failed.
    if (signal.aborted) return;
    // Through the generation, whose record has the failure then; it throws it as the client may be told it.
    generation.poll({ wake: () => {} });
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}
