import type { Container } from "../../api/generated/types.ts";
import { findContainer, podFullName } from "../../api/pod/pod.ts";
import { gatesInForce } from "../../config/gates/feature-gates.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Call } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";
import { findPod, type PodView, type ServedNode } from "../served-node.ts";
import {
  parsePorts,
  parseStreamOptions,
  type StreamOptions,
  type Translation,
  translationOfCommand,
  translationOfPortForward,
} from "./stream-options.ts";

/** What connections into containers are opened with. */
export interface Streaming {
  readonly node: ServedNode;
  readonly log: Log;
  /** Protocols that the runtime does not speak are translated for it (gate ExtendWebSocketsToKubelet). */
  readonly translates: boolean;
  readonly countTranslated: CountTranslated;
}

/** Counts a request that is translated. */
export type CountTranslated = (subresource: "exec" | "attach" | "portforward") => void;

/** The Go kubelet's metric of requests that it translates (server/metrics). */
export function createStreamingMetrics(metrics: MetricsRegistry): CountTranslated {
  const total = metrics.counter({
    name: "kubelet_websocket_streaming_requests_total",
    help: "Total number of WebSocket streaming requests (exec/attach/portforward) received by the kubelet.",
  });
  return (subresource) => total.add({ subresource });
}

/** Connections into containers of `node`. */
export function createStreaming(
  node: ServedNode,
  deps: Pick<Streaming, "log" | "countTranslated">,
): Streaming {
  const gates = gatesInForce(node.config);
  const { log, countTranslated } = deps;
  return { node, log, countTranslated, translates: gates.isEnabled("ExtendWebSocketsToKubelet") };
}

const NONE: Translation = { kind: "none" };

/** `/exec/…`: runs a command in a container over a connection that is handed to the runtime. */
export async function replyExec(call: Call, streaming: Streaming): Promise<void> {
  const { node } = streaming;
  const options = parseStreamOptions(call.query);
  const command = call.query.getAll("command");
  const record = podOf(call, node, "pod does not exist");
  const container = call.params["container"] ?? "";
  const containerId = runningContainer(call, record, container);
  if (containerId === undefined) throw notFoundIn(container);
  const translation = streaming.translates ? translationOfCommand(call.exchange) : NONE;
  if (translation.kind !== "none") streaming.countTranslated("exec");
  await handOver(call, streaming, { translation, streams: options }, () =>
    node.subsystems.runtime.service.exec({ containerId, ...options }, command, call.signal),
  );
}

/** `/attach/…`: connects to what a container runs anyway. It has the terminal it was started with. */
export async function replyAttach(call: Call, streaming: Streaming): Promise<void> {
  const { node } = streaming;
  const options = parseStreamOptions(call.query);
  const record = podOf(call, node, "pod does not exist");
  const container = call.params["container"] ?? "";
  const containerId = runningContainer(call, record, container);
  if (containerId === undefined) {
    throw new HttpProblem(
      500,
      `container ${container} not found in pod ${podFullName(record.pod)}\n`,
    );
  }
  const spec = findContainer(record.pod, container)?.container as Container | undefined;
  const tty = spec?.tty === true;
  const streams = { ...options, tty, stderr: options.stderr && !tty };
  const translation = streaming.translates ? translationOfCommand(call.exchange) : NONE;
  if (translation.kind !== "none") streaming.countTranslated("attach");
  await handOver(call, streaming, { translation, streams }, () =>
    node.subsystems.runtime.service.attach({ containerId, ...streams }, call.signal),
  );
}

/** `/portForward/…`: connects to ports inside a pod's network. */
export async function replyPortForward(call: Call, streaming: Streaming): Promise<void> {
  const { node } = streaming;
  const translation = streaming.translates ? translationOfPortForward(call.exchange) : NONE;
  const isTunnel = translation.kind === "tunnel";
  const ports = parsePorts(call.query, call.exchange.upgrade === "websocket" && !isTunnel);
  const record = podOf(call, node, "pod does not exist");
  const sandboxId = record.observed.sandboxes.find(({ ready }) => ready)?.id;
  const otherPod = call.params["uid"] !== undefined && call.params["uid"] !== record.uid;
  if (sandboxId === undefined || otherPod)
    throw new HttpProblem(500, `pod not found (${JSON.stringify(podFullName(record.pod))})\n`);
  if (isTunnel) streaming.countTranslated("portforward");
  await handOver(call, streaming, { translation, streams: NO_STREAMS }, () =>
    node.subsystems.runtime.service.portForward(sandboxId, ports, call.signal),
  );
}

/** `/run/…`: runs a command to its end and answers with what it wrote. */
export async function replyRun(call: Call, node: ServedNode): Promise<void> {
  const record = podOf(call, node, "pod does not exist");
  const container = call.params["container"] ?? "";
  const containerId = runningContainer(call, record, container);
  if (containerId === undefined) throw notFoundIn(container);
  const command = (call.query.get("cmd") ?? "").split(" ");
  const { runtime } = node.subsystems;
  const result = await runtime.service
    .execSync(containerId, command, 0, call.signal)
    .catch((error: unknown) => {
      throw runtimeProblem(error);
    });
  if (result.exitCode !== 0) {
    const stderr = Buffer.from(result.stderr).toString("utf8");
    const text = `command '${command.join(" ")}' exited with ${result.exitCode}: ${stderr}`;
    throw new HttpProblem(500, text);
  }
  await call.exchange.reply(
    200,
    { "content-type": "application/json" },
    Buffer.concat([result.stdout, result.stderr]),
  );
}

function podOf({ params }: Call, node: ServedNode, missing: string): PodView {
  const record = findPod(node, params["namespace"], params["pod"]);
  if (!record) throw new HttpProblem(404, missing);
  return record;
}

/** Id of the running attempt; none for another pod of the same name than the one that is meant. */
function runningContainer(
  { params }: Call,
  { uid, observed }: PodView,
  name: string,
): string | undefined {
  if (params["uid"] !== undefined && params["uid"] !== uid) return undefined;
  return observed.containers.find((each) => each.name === name && each.state === "running")?.id;
}

function notFoundIn(container: string): HttpProblem {
  return new HttpProblem(500, `container not found (${JSON.stringify(container)})\n`);
}

const NO_STREAMS: StreamOptions = { stdin: false, stdout: false, stderr: false, tty: false };

/** How a connection is made with the runtime's. */
interface Connection {
  readonly translation: Translation;
  readonly streams: StreamOptions;
}

/** Asks the runtime for its URL and hands the connection over to it. */
async function handOver(
  call: Call,
  { node, log }: Streaming,
  connection: Connection,
  urlOf: () => Promise<string>,
): Promise<void> {
  const { exchange, identity, path } = call;
  if (exchange.upgrade === undefined) throw new HttpProblem(400, "Upgrade request required");
  const url = await urlOf().catch((error: unknown) => {
    throw runtimeProblem(error);
  });
  log.verbose(2, "connection handed over to the runtime", {
    path,
    user: identity.name,
    peer: exchange.peer,
    protocol: exchange.upgrade,
    translation: connection.translation.kind,
  });
  try {
    await connect(exchange, connection, url, node.config.streamingConnectionIdleTimeout);
  } catch (error) {
    if (exchange.status !== undefined || !isOutside(error)) throw error;
    if (isOutside(error, "denied"))
      log.error("the runtime's streaming server is not used", { error });
    throw new HttpProblem(500, `${messageOf(error)}\n`, error);
  }
}

function connect(
  exchange: Call["exchange"],
  { translation, streams }: Connection,
  url: string,
  idleMs: number,
): Promise<void> {
  switch (translation.kind) {
    case "command":
      return exchange.proxyCommand(url, streams, idleMs);
    case "tunnel":
      return exchange.proxyTunnel(url, translation.streamProtocols, idleMs);
    case "none":
      return exchange.proxyUpgrade(url, idleMs);
  }
}

/** Statuses of the runtime's errors as the Go kubelet maps them (streaming/errors.go). */
function runtimeProblem(error: unknown): unknown {
  if (!isOutside(error)) return error;
  const status = error.code === "notFound" ? 404 : error.code === "exhausted" ? 429 : 500;
  return new HttpProblem(status, `${error.message}\n`, error);
}
