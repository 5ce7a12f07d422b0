// Runs inside a box: asks a kubelet for its pods again and again and says what changes. A process of its
// own, so that no relay stands between the kubelet and the clock.
//
// Arguments: address of /pods, label that names a pod. Standard input: lines with the pause between two
// questions in milliseconds, 0 to stop asking. Standard output: lines of JSON, see `Sighting`.
import { Agent, get } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

/** Something seen for the first time; `at` is on the machine's monotonic clock, in milliseconds. */
export type Sighting =
  | { readonly kind: "answer"; readonly at: number }
  | { readonly kind: "running" | "ready"; readonly at: number; readonly pod: string };

interface SeenPod {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly state?: { readonly running?: unknown } }[];
  };
}

const [address = "", label = ""] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const seen = new Set<string>();
let pauseMs = 0;
let wake = () => {};

createInterface(process.stdin)
  .on("line", (line) => {
    pauseMs = Number(line);
    wake();
  })
  .on("close", () => process.exit(0));
await observe();

async function observe(): Promise<never> {
  for (;;) {
    while (pauseMs === 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    const asked = now();
    const pods = await ask().catch(() => undefined);
    if (pods) note(pods, now());
    await sleep(Math.max(0, pauseMs - (now() - asked)));
  }
}

function note(pods: readonly SeenPod[], at: number): void {
  say("answer", at, undefined);
  for (const { metadata, status } of pods) {
    const pod = metadata?.labels?.[label];
    if (pod === undefined) continue;
    const { phase, containerStatuses = [], conditions = [] } = status ?? {};
    const running = phase === "Running" && containerStatuses.every(({ state }) => state?.running);
    if (running && containerStatuses.length > 0) say("running", at, pod);
    if (conditions.some(({ type, status: is }) => type === "Ready" && is === "True"))
      say("ready", at, pod);
  }
}

function say(kind: Sighting["kind"], at: number, pod: string | undefined): void {
  const key = `${kind} ${pod}`;
  if (seen.has(key)) return;
  seen.add(key);
  process.stdout.write(`${JSON.stringify({ kind, at, pod })}\n`);
}

function ask(): Promise<readonly SeenPod[]> {
  return new Promise((resolve, reject) => {
    const request = get(address, { agent, timeout: 5_000 }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        try {
          if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
          resolve(JSON.parse(Buffer.concat(chunks).toString("utf8")).items ?? []);
        } catch (error) {
          reject(error);
        }
      });
    });
    request.on("timeout", () => request.destroy(new Error("no answer")));
    request.on("error", reject);
  });
}

function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
