import type { LifecycleHandler, Pod } from "../../api/generated/types.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { RuntimeService } from "../../outside/cri/cri.ts";
import type { Net } from "../../outside/net/net.ts";

/** Body of a hook's answer that is read (lifecycle maxRespBodyLength). */
const MAX_BODY_BYTES = 10 * 1024;
/** HTTP hooks have no timeout of their own in the API; nothing waits longer than this. */
const HTTP_TIMEOUT_MS = 60 * 60 * 1000;

/** What hooks are run through. */
export interface HookDeps {
  readonly runtime: RuntimeService;
  readonly net: Net;
  readonly clock: Clock;
  readonly log: Log;
  /** Primary address of the pod as last seen. */
  readonly podIp: (pod: Pod) => string | undefined;
  /** Told of a hook that was to be HTTPS and was answered in HTTP only; `host` is that of its URL. */
  readonly onHttpFallback?: (pod: Pod, host: string) => void;
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
  readonly pod: Pod;
  readonly container: string;
  readonly containerId: string;
}

/** Hooks run through the given runtime and network. */
export function createHooks(deps: HookDeps): Hooks {
  return {
    run: (at, hook, signal) => runHook(deps, at, hook, signal),
    runPreStop: (at, hook, signal, onFailure) => runPreStop(deps, at, hook, { signal, onFailure }),
  };
}

/** Runs one hook to its end; a failed one throws with what the user should know (lifecycle/handlers.go). */
async function runHook(
  deps: HookDeps,
  at: HookPlace,
  hook: LifecycleHandler,
  signal: AbortSignal,
): Promise<void> {
  if (hook.exec) {
    const { exitCode, stdout, stderr } = await deps.runtime.execSync(
      at.containerId,
      hook.exec.command ?? [],
      0,
      signal,
    );
    if (exitCode === 0) return;
    const output = Buffer.concat([stdout, stderr]).toString("utf8").slice(0, 1024);
    throw new Error(
      `Exec lifecycle hook (${(hook.exec.command ?? []).join(" ")}) for Container "${at.container}" failed - error: command exited with ${exitCode}, message: ${JSON.stringify(output)}`,
    );
  }
  if (hook.sleep) {
    await deps.clock.sleep(hook.sleep.seconds * 1000, signal);
    return;
  }
  if (hook.httpGet) {
    await runHttpHook(deps, at, hook.httpGet, signal);
    return;
  }
  throw new Error(
    `Cannot run handler: none of exec, httpGet and sleep is given for container "${at.container}"`,
  );
}

/** How a server that knows no TLS shows itself. */
const HTTP_TO_HTTPS = "http: server gave HTTP response to HTTPS client";

/** What was meant for an encrypted connection stays off the wire without one. */
const isNoCredential = ({ name }: { readonly name: string }) =>
  name.toLowerCase() !== "authorization";

async function runHttpHook(
  deps: HookDeps,
  at: { readonly pod: Pod; readonly container: string },
  hook: NonNullable<LifecycleHandler["httpGet"]>,
  signal: AbortSignal,
): Promise<void> {
  const host = hook.host ?? deps.podIp(at.pod);
  if (host === undefined || host === "")
    throw new Error("failed to find networking container: pod has no address yet");
  const secure = (hook.scheme ?? "HTTP").toLowerCase() === "https";
  const port = hookPort(at.pod, at.container, hook.port);
  const path = (hook.path ?? "/").startsWith("/") ? (hook.path ?? "/") : `/${hook.path}`;
  const urlHost = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const headers = hook.httpHeaders ?? [];
  const ask = (scheme: "http" | "https") =>
    deps.net.http(
      {
        url: `${scheme}://${urlHost}${path}`,
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
  if (answer.kind !== "response")
    throw new Error(
      `HTTP lifecycle hook (${path}) for Container "${at.container}" failed - error: ${answer.message}`,
    );
  if (answer.status >= 400)
    throw new Error(
      `HTTP lifecycle hook (${path}) for Container "${at.container}" failed - status ${answer.status}`,
    );
}

function hookPort(pod: Pod, container: string, port: number | string): number {
  if (typeof port === "number") return port;
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const ports = containers.find(({ name }) => name === container)?.ports ?? [];
  const named = ports.find(({ name }) => name === port)?.containerPort;
  if (named !== undefined) return named;
  const number = Number(port);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new Error(
    `invalid port ${JSON.stringify(port)}: container ${container} has no port of that name`,
  );
}

/**
 * Runs a pre-stop hook for `graceSeconds` at most and says how many whole seconds that took. A failure
 * is told to `onFailure` and changes nothing else: the container is stopped all the same.
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
  const ended = new AbortController();
  const done = runHook(deps, at, hook, signal).then(
    () => {},
    (error: unknown) => {
      if (!signal.aborted) onFailure(messageOf(error));
    },
  );
  const late = deps.clock.sleep(at.graceSeconds * 1000, ended.signal).catch(() => {});
  await Promise.race([done, late]);
  ended.abort(new Error("pre-stop hook is over"));
  return Math.floor((deps.clock.monotonic() - began) / 1000);
}
