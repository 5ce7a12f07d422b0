// The local API killed while it writes: what it acknowledged is there after the next start. First its process alone,
// then all of `nodelet up`.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runCrashSeries } from "./crash-series.ts";
import { killUpAgainAndAgain } from "./crash-up.ts";

const ROUNDS = Number(process.env["NODELET_CRASH_ROUNDS"] ?? "25");
const UP_ROUNDS = 20;
const SERVER = fileURLToPath(new URL("crash-server.ts", import.meta.url));

async function startServer(folder: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [SERVER, folder], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once("data", () => resolve());
    child.once("exit", (code, signal) => reject(new Error(`the server ended: ${code} ${signal}`)));
  });
  return child;
}

test(`${ROUNDS} times killed while it writes, the local API has what it acknowledged`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-crash-"));
  let child: ChildProcess | undefined;
  try {
    const figures = await runCrashSeries(ROUNDS, {
      kubeconfig: join(folder, "kubeconfig"),
      start: async () => {
        child = await startServer(folder);
      },
      kill: async () => {
        const ended = new Promise((resolve) => child?.once("exit", resolve));
        child?.kill("SIGKILL");
        await ended;
      },
      assertRunning: () => {
        if (child?.exitCode !== null) throw new Error(`the server ended: ${child?.exitCode}`);
      },
    });
    console.log(JSON.stringify(figures));
  } finally {
    child?.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});

test(`${UP_ROUNDS} times all of nodelet up killed while it writes, its API has what it acknowledged`, async () => {
  console.log(JSON.stringify(await killUpAgainAndAgain(UP_ROUNDS)));
});
