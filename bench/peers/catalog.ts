import { MAX_MODEL_LEN } from "../../lib/config.ts";
import { type Launcher, runToEnd } from "../process.ts";
import { serveLauncher } from "../serve_launcher.ts";

/** One server to compare. */
export interface Peer {
  name: string;
  title: string;
  /** Makes it ready (packages, a build) and tells how to start it; throws an error that names what is missing. */
  prepare(): Promise<Launcher>;
}

/** Our own server's name here: the ratios are to it. */
export const OURS = "tokentap";

const PYTHON = "/usr/bin/python3";

/** Streams at once that a server may be asked for: sockets that one process may hold. */
export const MAX_STREAMS = 20_000;

function here(path: string): string {
  return new URL(path, import.meta.url).pathname;
}

export const PEERS: Peer[] = [
  {
    name: OURS,
    title: "Tokentap",
    // A slot for every stream, and room for any answer: no peer has a queue or a limit.
    prepare: () => serveLauncher(["--max-num-seqs", `${MAX_STREAMS}`, "--max-model-len", `${MAX_MODEL_LEN}`]),
  },
  node("node-http", "node:http, timer per stream", "node_http.mjs"),
  node("express", "express 5.3.0", "express.mjs", "packages"),
  node("fastify", "fastify 5.12.8", "fastify.mjs", "packages"),
  node(
    "hono-node",
    "hono 4.13.19 streamSSE on Node",
    "hono_node.mjs",
    "packages",
  ),
  {
    name: "hono-deno",
    title: "hono 4.13.19 streamSSE on Deno",
    async prepare() {
      const config = ["--config", here("./servers/deno.json"), "--frozen"];
      const entry = here("./servers/hono_deno.ts");
      await runToEnd(Deno.execPath(), ["cache", ...config, entry]);
      return (port) => ({
        command: Deno.execPath(),
        args: [
          "run",
          ...config,
          "--allow-net",
          "--allow-read",
          entry,
          "--port",
          `${port}`,
        ],
      });
    },
  },
  {
    name: "go",
    title: "Go net/http",
    async prepare() {
      await found("go", ["version"], "golang-go");
      const folder = await Deno.makeTempDir({ prefix: "peers-go-" });
      addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
      const binary = `${folder}/server`;
      await runToEnd("go", ["build", "-o", binary, "server.go"], { cwd: here("./servers") });
      return (port) => ({
        command: binary,
        args: ["-port", `${port}`, "-words", here("./servers/words.json")],
      });
    },
  },
  {
    name: "fastapi",
    title: "uvicorn + FastAPI",
    async prepare() {
      await found(
        PYTHON,
        ["-c", "import fastapi, uvicorn"],
        "python3-fastapi, python3-uvicorn",
      );
      const options = ["--no-access-log", "--log-level", "warning"];
      return (port) => ({
        command: PYTHON,
        args: [
          "-m",
          "uvicorn",
          "fastapi_server:app",
          "--port",
          `${port}`,
          ...options,
        ],
        cwd: here("./servers"),
        env: { PYTHONDONTWRITEBYTECODE: "1" },
      });
    },
  },
];

function node(
  name: string,
  title: string,
  file: string,
  needs?: "packages",
): Peer {
  return {
    name,
    title,
    async prepare() {
      await found("node", ["--version"], "nodejs");
      if (needs) await installPackages();
      return (port) => ({
        command: "node",
        args: [here(`./servers/${file}`), "--port", `${port}`],
        env: { NODE_ENV: "production" },
      });
    },
  };
}

/** Installs what package-lock.json says, the first time; the folder is not kept in the repository. */
async function installPackages(): Promise<void> {
  const installed = await Deno.stat(here("./node_modules/.package-lock.json"))
    .catch(() => null);
  if (installed) return;
  await found("npm", ["--version"], "npm");
  await runToEnd("npm", ["ci", "--no-audit", "--no-fund"], { cwd: here(".") });
}

async function found(
  command: string,
  args: string[],
  packages: string,
): Promise<void> {
  await runToEnd(command, args).catch(() => {
    throw new Error(
      `${command} ${args.join(" ")} does not work here (Debian: ${packages})`,
    );
  });
}
