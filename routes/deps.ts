import type { Settings } from "../lib/config.ts";
import type { Engine } from "../lib/engine/engine.ts";
import type { TapError } from "../lib/errors.ts";
import type { Clock } from "../lib/engine/pacer.ts";
import type { Ledger } from "../lib/stream/ledger.ts";
import type { Turn } from "../lib/stream/turn.ts";

/** What the routes work with; made by `main.ts`, or by a test. */
export interface Deps {
  engine: Engine;
  ledger: Ledger;
  clock: Clock;
  turn: Turn;
  /** Their model is the name clients see: never the path of a file. */
  settings: Settings;
  /** True from the first SIGTERM on: no new generation is begun. */
  draining: () => boolean;
  /** Called with what an unexpected throw was; its text goes to the log and nowhere else. */
  onUnexpected: (id: string, error: unknown) => void;
  /** Called with a failure of ours (a 5xx) that no generation's record tells of. */
  onRefused: (id: string, error: TapError) => void;
}

/** hono's environment: what the middleware leaves for the routes. */
export type Env = {
  Variables: {
    requestId: string;
    /** The id the client gave, or "". */
    clientId: string;
    /** A generation was begun, and its record tells of every failure from then on. */
    begun?: boolean;
  };
};
