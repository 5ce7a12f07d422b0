// The local API killed while it writes: what it acknowledged is there after the next start.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Cell } from "../../src/kit/cell.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { connectKube } from "../../src/outside/kube/connect-kube.ts";
import { CONFIG_MAPS, isApiError, KubeClient } from "../../src/outside/kube/kube.ts";
import { accessIn } from "./local-api.ts";

const ROUNDS = Number(process.env["NODELET_CRASH_ROUNDS"] ?? "50");
const WRITERS = 4;
const OBJECTS_OF_EACH = 5;
const MOST_WRITES_OF_ROUND = 40;
const SERVER = fileURLToPath(new URL("crash-server.ts", import.meta.url));
const NAMESPACE = "default";

async function startServer(folder: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [SERVER, folder], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once("data", () => resolve());
    child.once("exit", (code, signal) => reject(new Error(`the server ended: ${code} ${signal}`)));
  });
  return child;
}

function connectTo(folder: string) {
  const { server, caPem, identity } = accessIn(join(folder, "kubeconfig"));
  const clock = createSystemClock();
  const kube = connectKube({
    clock,
    random: createSystemRandom(),
    log: silentLog,
    userAgent: "nodelet-test",
  });
  const transport = kube.connect({
    server,
    authoritiesPem: caPem,
    credentials: { identity: new Cell(identity) },
  });
  return { transport, client: new KubeClient({}, { transport, clock, log: silentLog }) };
}

/** What of an object was acknowledged, and what was asked for and not answered. */
interface Expected {
  acknowledged: string | undefined;
  open: string | undefined;
}

test(`${ROUNDS} times killed while it writes, the local API has what it acknowledged`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-crash-"));
  const expected = new Map<string, Expected>();
  let acknowledged = 0;
  let version = 0;
  let child: ChildProcess | undefined;
  try {
    for (let round = 0; round <= ROUNDS; round += 1) {
      child = await startServer(folder);
      const { transport, client } = connectTo(folder);
      const leave = new AbortController();
      const list = await client.list(CONFIG_MAPS, { namespace: NAMESPACE }, leave.signal);
      const found = new Map(
        list.items.map(({ metadata, data }) => [metadata?.name ?? "", data?.["n"]]),
      );
      for (const [name, state] of expected) {
        const value = found.get(name);
        assert.ok(
          value === state.acknowledged || (state.open !== undefined && value === state.open),
          `round ${round}: ${name} is ${value}, acknowledged ${state.acknowledged}, open ${state.open}`,
        );
        state.acknowledged = value;
        state.open = undefined;
      }
      const now = Number(list.metadata.resourceVersion);
      assert.ok(now >= version, `versions went back from ${version} to ${now}`);
      if (round < ROUNDS) {
        const write = async (writer: number) => {
          for (let n = 0; !leave.signal.aborted; n += 1) {
            const name = `object-${writer}-${n % OBJECTS_OF_EACH}`;
            const state = expected.get(name) ?? { acknowledged: undefined, open: undefined };
            expected.set(name, state);
            const value = `${round}-${n}`;
            state.open = value;
            try {
              const place = { namespace: NAMESPACE, name };
              const object = { metadata: { name }, data: { n: value } };
              const made =
                state.acknowledged === undefined
                  ? await client.create(CONFIG_MAPS, { namespace: NAMESPACE }, object, leave.signal)
                  : await client.update(CONFIG_MAPS, place, object, leave.signal);
              version = Math.max(version, Number(made.metadata?.resourceVersion));
              state.acknowledged = value;
              state.open = undefined;
              acknowledged += 1;
            } catch (error) {
              if (isApiError(error)) throw error;
              return;
            }
          }
        };
        const writing = Array.from({ length: WRITERS }, (_, writer) => write(writer));
        const enough = acknowledged + 1 + Math.floor(Math.random() * MOST_WRITES_OF_ROUND);
        while (acknowledged < enough) await sleep(1);
        const ended = new Promise((resolve) => child?.once("exit", resolve));
        child.kill("SIGKILL");
        await ended;
        leave.abort(new Error("killed"));
        await Promise.all(writing);
      }
      transport.close();
    }
  } finally {
    child?.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`${ROUNDS} kills, ${acknowledged} acknowledged writes, last version ${version}`);
  assert.ok(acknowledged > ROUNDS * 5, `only ${acknowledged} writes: nothing was in flight`);
});
