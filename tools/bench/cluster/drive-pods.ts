// Runs inside a box: creates and deletes pods through the API server and says what a watch shows of them. A
// process of its own, so that no relay stands between the API and the clock.
//
// Argument: file with a `DriverSettings`. Standard input: lines of JSON, see `DriverOrder`. Standard output: lines of
// JSON, see `Sighting`.
import { readFileSync } from "node:fs";
import { Agent, type RequestOptions, request } from "node:https";
import { createInterface } from "node:readline";
import type { Node, Pod } from "../../../src/api/generated/types.ts";

/** Whom to ask, and as whom. */
export interface DriverSettings {
  readonly url: string;
  readonly namespace: string;
  readonly caPem: string;
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

export type DriverOrder =
  | { readonly kind: "create"; readonly pods: readonly Pod[] }
  | { readonly kind: "delete"; readonly names: readonly string[]; readonly graceSeconds: number };

/** Something that happened for the first time; `at` is on the machine's monotonic clock, in milliseconds. */
export interface Sighting {
  readonly kind: "created" | "added" | "deleted" | "ready" | "gone" | "node-ready";
  readonly name: string;
  readonly at: number;
}

/** How a changed object comes over a watch. */
interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** Connections by which pods are created and deleted. */
const PARALLEL = 8;
const settings: DriverSettings = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
const PODS = `/api/v1/namespaces/${settings.namespace}/pods`;
const agent = new Agent({
  keepAlive: true,
  maxSockets: PARALLEL,
  ca: settings.caPem,
  cert: settings.certificatePem,
  key: settings.privateKeyPem,
  checkServerIdentity: () => undefined,
});
const watchAgent = new Agent({ ...agent.options, maxSockets: 2 });
const reported = new Set<string>();

createInterface(process.stdin)
  .on("line", (line) => take(JSON.parse(line)))
  .on("close", () => process.exit(0));
await Promise.all([
  watch<Pod>(PODS, ({ type, object }) => {
    const name = object.metadata?.name ?? "";
    if (type === "ADDED") say("added", name);
    if (type === "DELETED") say("gone", name);
    else if (isReady(object)) say("ready", name);
  }),
  watch<Node>("/api/v1/nodes", ({ object }) => {
    if (isReady(object)) say("node-ready", object.metadata?.name ?? "");
  }),
]);

function take(order: DriverOrder): void {
  const all =
    order.kind === "create"
      ? order.pods.map((pod) => create(pod))
      : order.names.map((name) => remove(name, order.graceSeconds));
  Promise.all(all).catch(fail);
}

async function create(pod: Pod): Promise<void> {
  say("created", pod.metadata?.name ?? "");
  await call("POST", PODS, pod);
}

async function remove(name: string, graceSeconds: number): Promise<void> {
  say("deleted", name);
  await call("DELETE", `${PODS}/${name}?gracePeriodSeconds=${graceSeconds}`);
}

/** Follows what is there and what changes; the bench ends before the API server ends the watch. */
function watch<T>(path: string, take: (event: WatchEvent<T>) => void): Promise<void> {
  return new Promise((_, reject) => {
    const options = { agent: watchAgent, path: `${path}?watch=1&timeoutSeconds=86400` };
    const asked = request(settings.url, options, (response) => {
      if (response.statusCode !== 200) reject(new Error(`watch ${path}: ${response.statusCode}`));
      createInterface(response).on("line", (line) => take(JSON.parse(line)));
      response.on("end", () => reject(new Error(`watch ${path} ended`)));
      response.on("error", reject);
    });
    asked.on("error", reject);
    asked.end();
  });
}

function call(method: string, path: string, body?: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = { agent, method, path };
    if (body !== undefined) options.headers = { "content-type": "application/json" };
    const asked = request(settings.url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        if ((response.statusCode ?? 0) < 300) resolve();
        else reject(new Error(`${method} ${path}: ${Buffer.concat(chunks).toString("utf8")}`));
      });
    });
    asked.on("error", reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function say(kind: Sighting["kind"], name: string): void {
  const at = Number(process.hrtime.bigint()) / 1e6;
  const key = `${kind} ${name}`;
  if (reported.has(key)) return;
  reported.add(key);
  process.stdout.write(`${JSON.stringify({ kind, name, at } satisfies Sighting)}\n`);
}

function isReady({ status }: Pod | Node): boolean {
  const conditions: readonly { readonly type: string; readonly status: string }[] =
    status?.conditions ?? [];
  return conditions.some(({ type, status: is }) => type === "Ready" && is === "True");
}

function fail(error: unknown): void {
  console.error(error);
  process.exit(1);
}
