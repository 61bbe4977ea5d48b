import { assertEquals } from "@std/assert";
import { shownRate } from "../../bench/table.ts";

Deno.test("a study in which no reader came says that nothing was measured, exits 1 and leaves earlier files", async () => {
  for (const name of ["savings", "tradeoff"]) {
    const out = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${out}/${name}.txt`, "of an earlier run");
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "-A", new URL(`../../bench/${name}.ts`, import.meta.url).href],
          ...[
            "--seconds",
            "0.5",
            "--rate",
            "0.01",
            "--out",
            out,
            ...name === "tradeoff" ? ["--sizes", "2"] : [],
          ],
        ],
        env: { NO_COLOR: "1" },
      }).output();
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      assertEquals([code, text(stdout), text(stderr)], [
        1,
        "",
        `${name}: nothing was measured; ${out} is as it was\n`,
      ]);
      assertEquals([...Deno.readDirSync(out)].map((file) => file.name), [`${name}.txt`]);
      assertEquals(await Deno.readTextFile(`${out}/${name}.txt`), "of an earlier run");
    } finally {
      await Deno.remove(out, { recursive: true });
    }
  }
});

Deno.test("a rate is shown as it was given, a computed one with two decimals", () => {
  assertEquals([0.01, 0.125, 30, 123.45, 21.7337].map(shownRate), ["0.01", "0.125", "30", "123.45", "21.73"]);
});
