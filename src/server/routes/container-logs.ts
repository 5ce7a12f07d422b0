import type { PodUid } from "../../api/observation.ts";
import { findContainer } from "../../api/pod/pod.ts";
import { nanosFromWall } from "../../api/text/timestamps.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import type { LogReading } from "../../subsystems/logs/logs.ts";
import { type Call, TEXT_HEADERS } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";
import { findPod, type PodView, type ServedNode } from "../served-node.ts";
import { type LogRequest, parseLogQuery } from "./log-query.ts";
import { bareContainerId, chooseLogSource } from "./log-source.ts";

/** `/containerLogs/{namespace}/{pod}/{container}`. */
export async function replyContainerLogs(
  call: Call,
  node: ServedNode,
  clock: Clock,
): Promise<void> {
  const { exchange, query, endpoint } = call;
  const allowStream =
    endpoint === "local" || node.config.featureGates["PodLogsQuerySplitStreams"] === true;
  const logQuery = parseLogQuery(query, allowStream);
  await using reading = await openLog(call, node, { ...logQuery, clock });
  // Headers are sent before the first line, so that following a silent container gets an answer.
  if (exchange.method === "HEAD") return exchange.reply(200, TEXT_HEADERS);
  const stream = exchange.replyStream(200, TEXT_HEADERS);
  await reading.pump((chunk) => stream.write(chunk), call.signal);
  await stream.end();
}

async function openLog(
  { params, signal }: Call,
  node: ServedNode,
  logQuery: LogRequest & { readonly clock: Clock },
): Promise<LogReading> {
  const { namespace, pod: name = "", container = "" } = params;
  const record = findPod(node, namespace, name);
  if (!record) throw new HttpProblem(404, `pod ${JSON.stringify(name)} does not exist`);
  if (!findContainer(record.pod, container)) {
    const text = `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(name)}`;
    throw new HttpProblem(404, text);
  }
  const { clock, previous, since, ...query } = logQuery;
  const { pipeline, subsystems } = node;
  const status = pipeline.statuses.get(record.uid)?.status ?? record.pod.status ?? {};
  const source = chooseLogSource(status, { pod: name, container }, previous);
  const id = bareContainerId(source.containerId);
  const sinceNanos =
    since === undefined
      ? undefined
      : "nanos" in since
        ? since.nanos
        : nanosFromWall(clock.wall()) - since.secondsAgo * 1_000_000_000n;
  try {
    const { logPath } = await subsystems.runtime.service.containerStatus(id, signal);
    return await subsystems.logs.open(
      logPath,
      { ...query, ...(sinceNanos === undefined ? {} : { sinceNanos }) },
      query.follow ? endOf(id, record, node) : new Cell(true),
    );
  } catch (error) {
    throw logProblem(error, source.containerId);
  }
}

/** As the Go kubelet, 400 where there is no log any more: of a 404 the API server passes no text on to kubectl. */
function logProblem(error: unknown, containerId: string): unknown {
  const text = `unable to retrieve container logs for ${containerId}`;
  if (isOutside(error, "exhausted")) return new HttpProblem(429, messageOf(error), error);
  if (isOutside(error, "notFound", "precondition", "invalid"))
    return new HttpProblem(400, text, error);
  return isOutside(error) ? new HttpProblem(500, text, error) : error;
}

/** Whether the container has ended, as the pods module sees it. */
function endOf(id: string, { uid }: PodView, { pipeline }: ServedNode): Reading<boolean> {
  const hasEnded = (record: PodView | undefined) => {
    const state = record?.observed.containers.find((container) => container.id === id)?.state;
    return state !== "running" && state !== "created";
  };
  return {
    get: () => hasEnded(pipeline.pods.get(uid as PodUid)),
    subscribe: (onChange) =>
      pipeline.pods.subscribe((record) => {
        if (record.uid === uid && hasEnded(record)) onChange(true);
      }),
  };
}
