import type { LifecycleHandler } from "../../api/generated/types.ts";
import { actionHeaders, actionUrl, actionUrlFault } from "../../api/pod/http-action.ts";
import { podDescription } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { LATEST_RELEASE } from "../../config/release.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import { NEVER_ABORTED, withTimeout } from "../../kit/within.ts";
import type { RuntimeService } from "../../outside/cri/cri.ts";
import type { HttpAnswer, HttpExchange, Net } from "../../outside/net/net.ts";

/** Body of a hook's answer that is read (lifecycle maxRespBodyLength). */
const MAX_BODY_BYTES = 10 * 1024;
/** Of what a failed command has written the status shows so much. */
const MAX_OUTPUT_CHARS = 1024;
/** How HTTP hooks name themselves, as those of the Go kubelet do. */
const USER_AGENT = `kube-lifecycle/${LATEST_RELEASE}`;
/** HTTP hooks have no timeout of their own in the API; nothing waits longer than this. */
const HTTP_TIMEOUT_MS = 60 * 60 * 1000;

/** Tries of a connection for which the node has no descriptors or memory, and the pause between two. */
const SHORTAGE_TRIES = 60;
const SHORTAGE_PAUSE_MS = 1_000;

interface HookDeps {
  readonly runtime: RuntimeService;
  readonly net: Net;
  readonly clock: Clock;
  readonly log: Log;
  /** Primary address of the pod. */
  readonly podIp: (at: HookPlace, signal: AbortSignal) => Promise<string | undefined>;
  /** Called for an HTTPS hook that was answered in HTTP only; `host` is that of its URL. */
  readonly onHttpFallback?: (pod: IdentifiedPod, host: string) => void;
  /** Called for a sleeping hook that was given up before its time. */
  readonly onSleepCut?: () => void;
}

/** The hooks of containers. */
export interface Hooks {
  run(at: HookPlace, hook: LifecycleHandler, signal: AbortSignal): Promise<void>;
  runPreStop(
    at: HookPlace & { readonly graceSeconds: number },
    hook: LifecycleHandler,
    signal: AbortSignal,
    onFailure: (message: string) => void,
  ): Promise<number>;
}

/** The container a hook belongs to. */
export interface HookPlace {
  readonly pod: IdentifiedPod;
  readonly container: string;
  readonly containerId: string;
  /** The sandbox it was just started in. */
  readonly sandboxId?: string;
}

/** Hooks run through the given runtime and network. */
export function createHooks(deps: HookDeps): Hooks {
  return {
    run: (at, hook, signal) => runHook(deps, at, hook, signal),
    runPreStop: (at, hook, signal, onFailure) => runPreStop(deps, at, hook, { signal, onFailure }),
  };
}

/**
 * Runs one hook to its end; a failed one throws with what the user should know, with the Go kubelet's text
 * (lifecycle/handlers.go). Any answer of an HTTP server will do, whatever its status.
 */
async function runHook(
  deps: HookDeps,
  at: HookPlace,
  hook: LifecycleHandler,
  signal: AbortSignal,
): Promise<void> {
  const where = `for Container "${at.container}" in Pod "${podDescription(at.pod)}" failed - error:`;
  if (hook.exec) {
    const command = hook.exec.command ?? [];
    const fault = await execFault(deps, at.containerId, command, signal);
    if (fault !== undefined)
      throw new Error(`Exec lifecycle hook ([${command.join(" ")}]) ${where} ${fault}`);
    return;
  }
  if (hook.sleep) {
    await deps.clock.sleep(hook.sleep.seconds * 1000, signal);
    return;
  }
  if (hook.httpGet) {
    try {
      await runHttpHook(deps, at, hook.httpGet, signal);
    } catch (error) {
      signal.throwIfAborted();
      const path = hook.httpGet.path ?? "";
      throw new Error(`HTTP lifecycle hook (${path}) ${where} ${messageOf(error)}`);
    }
    return;
  }
  throw new Error(
    `Cannot run handler: none of exec, httpGet and sleep is given for container "${at.container}"`,
  );
}

/** Error of a command in the container; `undefined` on success. */
async function execFault(
  { runtime }: HookDeps,
  containerId: string,
  command: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { exitCode, stdout, stderr } = await runtime.execSync(containerId, command, 0, signal);
    if (exitCode === 0) return undefined;
    const cut = (text: string) => text.slice(0, MAX_OUTPUT_CHARS);
    const output = cut(Buffer.concat([stdout, stderr]).toString("utf8"));
    const stderrText = cut(Buffer.from(stderr).toString("utf8"));
    return `command '${command.join(" ")}' exited with ${exitCode}: ${stderrText}, message: ${JSON.stringify(output)}`;
  } catch (error) {
    signal.throwIfAborted();
    return `${messageOf(error)}, message: ""`;
  }
}

/** Asked where the hook names no port. */
const DEFAULT_PORT = 80;

/** How a server that knows no TLS shows itself. */
const HTTP_TO_HTTPS = "http: server gave HTTP response to HTTPS client";

/** Headers meant for an encrypted connection are not sent over a plain one. */
const isNoCredential = ({ name }: { readonly name: string }) =>
  name.toLowerCase() !== "authorization";

async function runHttpHook(
  deps: HookDeps,
  at: HookPlace,
  hook: NonNullable<LifecycleHandler["httpGet"]>,
  signal: AbortSignal,
): Promise<void> {
  const host = hook.host || (await deps.podIp(at, signal));
  if (!host) throw new Error("failed to find networking container: pod has no address yet");
  const secure = (hook.scheme ?? "HTTP").toLowerCase() === "https";
  const fault = actionUrlFault(secure ? "https" : "http", hook.path ?? "");
  if (fault !== undefined) throw new Error(fault);
  const port = hookPort(at.pod, at.container, hook.port);
  const urlHost = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const headers = actionHeaders(hook.httpHeaders ?? [], USER_AGENT);
  const ask = (scheme: "http" | "https") =>
    askUnlessShort(
      deps,
      {
        url: actionUrl(scheme, host, port, hook.path ?? ""),
        method: "GET",
        headers: scheme === "https" || !secure ? headers : headers.filter(isNoCredential),
        timeoutMs: HTTP_TIMEOUT_MS,
        maxBodyBytes: MAX_BODY_BYTES,
        followSameHost: true,
      },
      signal,
    );
  let answer = await ask(secure ? "https" : "http");
  if (secure && answer.kind === "failure" && answer.message.endsWith(HTTP_TO_HTTPS)) {
    const plain = await ask("http");
    if (plain.kind === "response") {
      deps.onHttpFallback?.(at.pod, urlHost);
      answer = plain;
    }
  }
  if (answer.kind !== "response") throw new Error(answer.message);
}

/** A request that is tried again while the node itself has nothing left for a connection: a hook that fails ends its container. */
async function askUnlessShort(
  { net, clock }: Pick<HookDeps, "net" | "clock">,
  exchange: HttpExchange,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await net.http(exchange, signal);
    } catch (error) {
      if (!isOutside(error, "exhausted") || tries >= SHORTAGE_TRIES) throw error;
    }
    await clock.sleep(SHORTAGE_PAUSE_MS, signal);
  }
}

function hookPort(pod: IdentifiedPod, container: string, port: number | string): number {
  if (typeof port === "number") return port;
  if (port === "") return DEFAULT_PORT;
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const ports = containers.find(({ name }) => name === container)?.ports ?? [];
  const named = ports.find(({ name }) => name === port)?.containerPort;
  if (named !== undefined) return named;
  throw new Error(`port ${JSON.stringify(port)} not found`);
}

/**
 * Runs a pre-stop hook for `graceSeconds` at most and says how many whole seconds that took. A failure
 * is passed to `onFailure` and changes nothing else: the container is stopped anyway.
 */
async function runPreStop(
  deps: HookDeps,
  at: HookPlace & { readonly graceSeconds: number },
  hook: LifecycleHandler,
  {
    signal,
    onFailure,
  }: { readonly signal: AbortSignal; readonly onFailure: (message: string) => void },
): Promise<number> {
  const began = deps.clock.monotonic();
  const timeout = { clock: deps.clock, ms: at.graceSeconds * 1000 };
  // A hook that takes longer goes on, as with the Go kubelet.
  await withTimeout(timeout, NEVER_ABORTED, () =>
    runHook(deps, at, hook, signal).catch((error: unknown) => {
      if (!signal.aborted) onFailure(messageOf(error));
    }),
  );
  const tookMs = deps.clock.monotonic() - began;
  if (hook.sleep && tookMs < hook.sleep.seconds * 1000) deps.onSleepCut?.();
  return Math.floor(tookMs / 1000);
}
