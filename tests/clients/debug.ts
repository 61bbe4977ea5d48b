import { until } from "../helpers/until.ts";

/** What the server tells of its latest stream, as soon as that has ended. */
export async function settled(
  url: string,
): Promise<{ route: string; outcome: string; generated: number; error: string | null }> {
  return await until("an outcome", async () => {
    const latest = await (await fetch(`${url}/_debug/generated`)).json();
    return latest.outcome !== "running" && latest;
  });
}
