import { until } from "./until.ts";

export interface Nginx extends AsyncDisposable {
  url: string;
  port: number;
}

const PATHS = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx", "/opt/homebrew/bin/nginx"];

/** Where nginx is, or undefined. */
function nginxPath(): string | undefined {
  return PATHS.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}

/**
 * Whether tests that need nginx can run. Where it is absent they are to be ignored, which is said once; but with
 * `CI=true` they run, and fail.
 */
export function nginxMissing(): boolean {
  if (nginxPath() !== undefined || Deno.env.get("CI") === "true") return false;
  console.error("nginx is not installed (Debian: apt-get install nginx): the tests behind it are ignored.");
  return true;
}

/**
 * A real nginx in front of a service, on a free port, with its default proxy settings; `extra` goes into its http
 * block. Close it with `await using`.
 *
 * @throws {Error} with what nginx wrote when it does not start
 */
export async function startNginx(upstreamPort: number, extra = ""): Promise<Nginx> {
  const path = nginxPath();
  if (path === undefined) throw new Error("wanted nginx, which is not installed");
  const dir = await Deno.makeTempDir({ prefix: "tokentap-nginx-" });
  const port = freePort();
  await Deno.writeTextFile(`${dir}/nginx.conf`, config(dir, port, upstreamPort, extra));
  const child = new Deno.Command(path, {
    args: ["-p", dir, "-e", `${dir}/error.log`, "-c", `${dir}/nginx.conf`],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let ended = false;
  const status = child.status.then(() => ended = true);
  const written = child.stderr.text();
  const dispose = async () => {
    if (!ended) child.kill("SIGTERM");
    await status;
    await written;
    await Deno.remove(dir, { recursive: true });
  };
  try {
    await until("nginx to listen", async () => {
      if (ended) throw new Error(`nginx did not start: ${await written}`);
      try {
        using _conn = await Deno.connect({ hostname: "127.0.0.1", port });
        return true;
      } catch {
        return false;
      }
    });
  } catch (error) {
    await dispose();
    throw error;
  }
  return { port, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: dispose };
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}

/** Nothing of the proxying is set but proxy_pass; the rest is what an unprivileged nginx in a folder needs. */
function config(dir: string, port: number, upstreamPort: number, extra: string): string {
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${dir}/${name};`).join(" ");
  return `
daemon off;
master_process off;
pid ${dir}/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  ${temp}
  ${extra}
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://127.0.0.1:${upstreamPort}; }
  }
}
`;
}
