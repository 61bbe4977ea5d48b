import { assertEquals, assertGreater, assertMatch } from "@std/assert";
import { until } from "../helpers/until.ts";

const CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
const SIGNALS = Object.keys(CODES) as (keyof typeof CODES)[];
const onLinux = Deno.build.os === "linux";

function bench(file: string): string {
  return new URL(`../../bench/${file}`, import.meta.url).href;
}

/** The processes of the machine that run: one that has ended may wait for its parent to take note. */
function running(): { pid: number; parent: number; command: string }[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter(Number.isInteger)
    .flatMap((pid) => {
      try {
        const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
        const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        const command = Deno.readTextFileSync(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
        return state === "Z" ? [] : [{ pid, parent: Number(parent), command }];
      } catch {
        return [];
      }
    });
}

function runs(pid: number): boolean {
  return running().some((process) => process.pid === pid);
}

Deno.test({
  name: "a tool that a signal ends takes the server it has started with it, and says which signal it was",
  ignore: !onLinux,
  async fn() {
    const code = `const { startServer } = await import("${bench("local_server.ts")}");` +
      "console.log((await startServer()).pid);";
    for (const signal of SIGNALS) {
      const tool = new Deno.Command(Deno.execPath(), {
        args: ["eval", code],
        stdin: "null",
        stdout: "piped",
      }).spawn();
      const output = tool.stdout.getReader();
      const pid = Number(new TextDecoder().decode((await output.read()).value));
      assertGreater(pid, 0);
      tool.kill(signal);
      assertEquals((await tool.status).code, CODES[signal]);
      await output.cancel();
      await until("the server gone", () => !runs(pid));
    }
  },
});

Deno.test({
  name: "nothing of bench:peers runs on after a signal: neither the server nor the load generator",
  ignore: !onLinux,
  async fn() {
    const args = ["--only", "tokentap", "--jobs", "paced", "--streams", "10", "--seconds", "60"];
    const tool = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", bench("peers.ts"), ...args, "--json", "/dev/null"],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const mine = () => running().filter(({ parent }) => parent === tool.pid);
    await until("a load generator", () => mine().some(({ command }) => command.includes("worker.ts")), {
      withinMs: 20_000,
    });
    const started = mine();
    assertEquals(started.length, 2);
    tool.kill("SIGTERM");
    assertEquals((await tool.status).code, 143);
    await until("all of them gone", () => !started.some(({ pid }) => runs(pid)));
  },
});

Deno.test({
  name: "a tool whose terminal is closed goes on under nohup",
  ignore: !onLinux,
  async fn() {
    const code = `const { atSignal } = await import("${bench("at_signal.ts")}"); atSignal(() => {})();` +
      'Deno.kill(Deno.pid, "SIGHUP"); console.log("goes on"); Deno.kill(Deno.pid, "SIGTERM"); setTimeout(() => {}, 60_000);';
    const { code: status, stdout } = await new Deno.Command("sh", {
      args: ["-c", `trap "" HUP; exec "$0" eval '${code}'`, Deno.execPath()],
      stdin: "null",
    }).output();
    assertEquals([status, new TextDecoder().decode(stdout)], [143, "goes on\n"]);
  },
});

Deno.test({
  name: "the progress line is cleared at a signal, so that the prompt stands on a line of its own",
  ignore: !onLinux,
  async fn() {
    const code = `const { progressLine } = await import("${bench("progress.ts")}");` +
      'progressLine()("under way"); Deno.kill(Deno.pid, "SIGINT"); setTimeout(() => {}, 60_000);';
    const { code: status, stdout } = await new Deno.Command("script", {
      args: ["-qec", `'${Deno.execPath()}' eval '${code}'`, "/dev/null"],
      stdin: "null",
    }).output();
    assertEquals(status, 130);
    // deno-lint-ignore no-control-regex
    assertMatch(new TextDecoder().decode(stdout), /under way\r\x1b\[K$/);
  },
});
