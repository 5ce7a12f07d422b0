// Go's own pprof opens what the agent serves.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { fetchPackages } from "../../tools/debian-suite.mjs";
import { type ServedWorld, startWorld } from "./world.ts";

/** The program behind `go tool pprof`, of the Go that the device plugin is built with. */
function pprofProgram(): string {
  const [folder = ""] = fetchPackages("bookworm", ["golang-1.19-go"]);
  const platform = `linux_${process.arch === "x64" ? "amd64" : process.arch}`;
  return join(folder, "usr/lib/go-1.19/pkg/tool", platform, "pprof");
}

function profileOf({ socketPath }: ServedWorld, path: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, agent: false }, async (answer) => {
      resolve(Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)));
    });
    asked.on("error", reject);
    asked.end();
  });
}

function top({ folder }: ServedWorld, profile: Buffer): string {
  const path = join(folder, "profile.pb.gz");
  writeFileSync(path, profile);
  const args = ["-top", "-nodecount=500", path];
  return execFileSync(pprofProgram(), args, { encoding: "utf8", env: { HOME: folder } });
}

test("pprof shows our functions in profiles of processor and heap", async () => {
  await using world = await startWorld();
  const ended = { over: false };
  // What the agent does when it is asked: its own functions have to be in the profile.
  const load = (async () => {
    while (!ended.over) await world.local("/metrics");
  })();
  const cpu = top(world, await profileOf(world, "/debug/pprof/profile?seconds=2"));
  assert.match(cpu, /^Type: (cpu|samples)$/m);
  assert.match(cpu, / expose$/m);
  const allocated = top(world, await profileOf(world, "/debug/pprof/allocs?seconds=1"));
  assert.match(allocated, /^Type: alloc_space$/m);
  assert.match(allocated, / expose$/m);
  ended.over = true;
  await load;
});
