import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { type Command, Option } from "commander";
import { parseTimestamp } from "../../api/text/timestamps.ts";
import { connectError } from "../../client/agent-client.ts";
import type { OutputStream } from "../../client/terminal-streams.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_USAGE } from "../../present/exit-codes.ts";
import { VisibleControls } from "../../present/visible-controls.ts";
import { type CliContext, clientOf } from "../context.ts";
import { readAge, readCount } from "./options/arguments.ts";
import {
  type ContainerOptions,
  chooseContainer,
  containerUrlPath,
  fetchPod,
  withPodOptions,
} from "./options/pod-options.ts";

interface LogOptions extends ContainerOptions {
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly tail?: number;
  readonly since?: number;
  readonly sinceTime?: string;
  readonly limitBytes?: number;
  readonly raw?: boolean;
}

/** `nodelet logs`. */
export function addLogsCommand(program: Command, context: CliContext): void {
  const command = program
    .command("logs")
    .summary("print the logs of a container")
    .description("Prints the logs of a container of a pod.")
    .argument("<pod>", "name, pod/name or namespace/name")
    .argument("[container]", "container name; default is the first container")
    .option("-c, --container <name>", "the container")
    .option("-f, --follow", "stream new log lines as they are written")
    .option("-p, --previous", "print the logs of the previous instance of the container")
    .option("--timestamps", "include the timestamp of each line")
    .addOption(
      new Option("--tail <lines>", "number of most recent lines to print; -1 prints all").argParser(
        readTail,
      ),
    )
    .addOption(
      new Option("--since <duration>", "only lines newer than this, e.g. 5m").argParser(readSince),
    )
    .option("--since-time <time>", "only lines after this time (RFC 3339)")
    .addOption(
      new Option("--limit-bytes <bytes>", "maximum number of bytes to print").argParser((text) =>
        readCount(text),
      ),
    )
    .option(
      "--raw",
      "pass control characters on to a terminal, colours among them; without it they are shown, as ^[",
    );
  withPodOptions(command).action(
    async (reference: string, container: string | undefined, options: LogOptions) => {
      const chosen = options.container ?? container;
      const all = { ...options, ...(chosen === undefined ? {} : { container: chosen }) };
      await logs(reference, all, context);
    },
  );
}

async function logs(reference: string, options: LogOptions, context: CliContext): Promise<void> {
  const { io } = context;
  const client = clientOf(context, options);
  const pod = await fetchPod(client, reference, options);
  const { name } = chooseContainer(pod, options, io);
  const path = `/containerLogs/${containerUrlPath(pod, name)}?${logQuery(options)}`;
  const response = await client.open(path, NEVER_ABORTED);
  try {
    if (options.raw !== true && io.stdout.isTTY === true) await showWhole(response, io.stdout);
    else await pipeWhole(response, io.stdout);
  } catch (thrown) {
    throw connectError(thrown as NodeJS.ErrnoException, client.socketPath);
  }
}

/** The request's parameters, as the API server passes them to a kubelet (v1.PodLogOptions). */
export function logQuery(options: Omit<LogOptions, "namespace">): URLSearchParams {
  const { since, sinceTime, tail, limitBytes } = options;
  if (since !== undefined && sinceTime !== undefined) {
    throw new CliError("--since and --since-time cannot be used together", {
      exitCode: EXIT_USAGE,
      fix: "use only one of them",
    });
  }
  if (sinceTime !== undefined && parseTimestamp(sinceTime) === undefined) {
    throw new CliError(`--since-time: "${sinceTime}" is not a time`, {
      exitCode: EXIT_USAGE,
      fix: "write it like 2026-01-31T12:00:00Z",
    });
  }
  const query = new URLSearchParams();
  if (options.follow === true) query.set("follow", "true");
  if (options.previous === true) query.set("previous", "true");
  if (options.timestamps === true) query.set("timestamps", "true");
  if (tail !== undefined && tail !== ALL) query.set("tailLines", String(tail));
  if (since !== undefined) query.set("sinceSeconds", String(since));
  if (sinceTime !== undefined) query.set("sinceTime", sinceTime);
  if (limitBytes !== undefined) query.set("limitBytes", String(limitBytes));
  return query;
}

/** Writes all of a stream; the end of the output does not end it. */
async function pipeWhole(from: Readable, to: Writable): Promise<void> {
  for await (const chunk of from as AsyncIterable<Buffer>)
    if (!to.write(chunk)) await once(to, "drain");
}

/** Like `pipeWhole` for a terminal, which the container must not steer. */
async function showWhole(from: Readable, to: OutputStream): Promise<void> {
  const output = new VisibleControls();
  for await (const chunk of from as AsyncIterable<Buffer>)
    if (!to.write(output.push(chunk))) await once(to, "drain");
  to.write(output.end());
}

/** All lines. */
const ALL = -1;

function readTail(text: string): number {
  return Number(text) === ALL ? ALL : readCount(text);
}

/** Seconds of a time with its unit, at least one. */
function readSince(text: string): number {
  return Math.max(1, Math.ceil(readAge(text) / 1000));
}
