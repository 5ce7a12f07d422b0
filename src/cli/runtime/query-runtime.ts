/** Short conversations with a container runtime on a socket. */
import { lstatSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { deprecationsOf } from "../../api/node/runtime-deprecations.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import { type ConnectedOutside, connectOutside } from "../../outside/connect.ts";
import type { RuntimeFacts } from "./runtime-facts.ts";

/** Deadline of one call. */
const CALL_MS = 5_000;
/** How long a socket may refuse connections or leave calls unanswered before it counts as dead. */
const TIMEOUT_MS = 2_000;
const POLL_MS = 100;

/** The connection to a runtime. */
export type RuntimeConnection = ConnectedOutside["cri"];

/** Outcome of asking. */
type RuntimeAnswer =
  | { readonly kind: "absent" }
  | { readonly kind: "silent"; readonly why: string }
  | { readonly kind: "answers"; readonly facts: RuntimeFacts };

interface ConnectionOptions {
  readonly signal?: AbortSignal;
  /** Deadline of one call. */
  readonly callMs?: number;
}

/** Opens a connection for the time of `use`. */
export async function withRuntime<T>(
  socket: string,
  use: (cri: RuntimeConnection, signal: AbortSignal) => Promise<T>,
  { signal = NEVER_ABORTED, callMs = CALL_MS }: ConnectionOptions = {},
): Promise<T> {
  const endpoint = `unix://${socket}`;
  const outside = connectOutside(
    { runtimeEndpoint: endpoint, imageEndpoint: endpoint, runtimeTimeoutMs: callMs },
    silentLog,
  );
  try {
    return await use(outside.cri, signal);
  } finally {
    outside.close();
  }
}

/** Asks the runtime on a socket who it is; waits `timeoutMs` for one that is just starting. */
export async function queryRuntime(
  socket: string,
  timeoutMs: number = TIMEOUT_MS,
): Promise<RuntimeAnswer> {
  if (!isSocket(socket)) return { kind: "absent" };
  return await withRuntime(socket, async (cri, signal) => {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      try {
        return { kind: "answers", facts: await collectFacts(cri, signal) };
      } catch (thrown) {
        if (isOutside(thrown, "unimplemented"))
          return { kind: "silent", why: "its CRI plugin is disabled" };
        if (!isOutside(thrown, "unavailable", "deadline") || performance.now() > deadline)
          return { kind: "silent", why: messageOf(thrown) };
        await sleep(POLL_MS);
      }
    }
  });
}

async function collectFacts(cri: RuntimeConnection, signal: AbortSignal): Promise<RuntimeFacts> {
  const { runtimeName, runtimeVersion, runtimeApiVersion } = await cri.runtime.version(signal);
  const { status } = await cri.runtime.status(signal);
  const notReady = (status?.conditions ?? [])
    .filter(({ type, status: met }) => !met && (type === "RuntimeReady" || type === "NetworkReady"))
    .map(({ type, message }) => `${type} is false${message === "" ? "" : `: ${message}`}`);
  return {
    version: `${runtimeName} ${runtimeVersion}`,
    api: runtimeApiVersion,
    notReady,
    deprecations: deprecationsOf(status?.conditions ?? []),
    description: await cri.selfDescription(signal),
    pods: (await cri.runtime.listSandboxes({}, signal)).length,
  };
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket();
  } catch {
    return false;
  }
}
