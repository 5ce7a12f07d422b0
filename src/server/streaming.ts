import type { Container } from "../api/generated/types.ts";
import { findContainer, podFullName } from "../api/pod.ts";
import { isOutside, messageOf } from "../kit/errors.ts";
import type { Log } from "../kit/log.ts";
import type { Call } from "./call.ts";
import { HttpProblem } from "./http-problem.ts";
import { findPod, type PodView, type ServedNode } from "./served-node.ts";
import { parsePorts, parseStreamOptions } from "./stream-options.ts";

/** `/exec/…`: runs a command in a container over a connection that is handed to the runtime. */
export async function replyExec(call: Call, node: ServedNode, log: Log): Promise<void> {
  const options = parseStreamOptions(call.query);
  const command = call.query.getAll("command");
  const record = podOf(call, node, "pod does not exist");
  const container = call.params["container"] ?? "";
  const containerId = runningContainer(call, record, container);
  if (containerId === undefined) throw notFoundIn(container);
  await handOver(call, { node, log, pod: record }, () =>
    node.subsystems.runtime.service.exec({ containerId, ...options }, command, call.signal),
  );
}

/** `/attach/…`: connects to what a container runs anyway. It has the terminal it was started with. */
export async function replyAttach(call: Call, node: ServedNode, log: Log): Promise<void> {
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
  await handOver(call, { node, log, pod: record }, () =>
    node.subsystems.runtime.service.attach({ containerId, ...streams }, call.signal),
  );
}

/** `/portForward/…`: connects to ports inside a pod's network. */
export async function replyPortForward(call: Call, node: ServedNode, log: Log): Promise<void> {
  const ports = parsePorts(call.query, call.exchange.upgrade === "websocket");
  const record = podOf(call, node, "pod does not exist");
  const sandboxId = record.observed.sandboxes.find(({ ready }) => ready)?.id;
  const otherPod = call.params["uid"] !== undefined && call.params["uid"] !== record.uid;
  if (sandboxId === undefined || otherPod)
    throw new HttpProblem(500, `pod not found (${JSON.stringify(podFullName(record.pod))})\n`);
  await handOver(call, { node, log, pod: record }, () =>
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
    const said = Buffer.from(result.stderr).toString("utf8");
    const text = `command '${command.join(" ")}' exited with ${result.exitCode}: ${said}`;
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

/** Asks the runtime for its URL and hands the connection over to it. */
async function handOver(
  call: Call,
  at: { readonly node: ServedNode; readonly log: Log; readonly pod: PodView },
  urlOf: () => Promise<string>,
): Promise<void> {
  const { exchange, identity, path } = call;
  if (exchange.upgrade === undefined) throw new HttpProblem(400, "Upgrade request required");
  const url = await urlOf().catch((error: unknown) => {
    throw runtimeProblem(error);
  });
  at.log.verbose(2, "connection handed over to the runtime", {
    path,
    user: identity.name,
    peer: exchange.peer,
    protocol: exchange.upgrade,
  });
  try {
    await exchange.proxyUpgrade(url, at.node.config.streamingConnectionIdleTimeout);
  } catch (error) {
    if (exchange.status !== undefined || !isOutside(error)) throw error;
    if (isOutside(error, "denied"))
      at.log.error("the runtime's streaming server is not used", { problem: messageOf(error) });
    throw new HttpProblem(500, `${messageOf(error)}\n`, error);
  }
}

/** Statuses of the runtime's errors as the Go kubelet maps them (streaming/errors.go). */
function runtimeProblem(error: unknown): unknown {
  if (!isOutside(error)) return error;
  const status = error.code === "notFound" ? 404 : error.code === "exhausted" ? 429 : 500;
  return new HttpProblem(status, `${error.message}\n`, error);
}
