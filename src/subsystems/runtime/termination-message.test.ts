import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { ContainerState, ContainerStatus } from "../../outside/cri/generated/api.ts";
import { TERMINATION_MESSAGE_PATH, TERMINATION_MESSAGE_POLICY } from "./labels.ts";
import { type ReadTail, terminationMessage } from "./termination-message.ts";

const FILE = "/var/lib/kubelet/pods/u/containers/c/1";
const LOG = "/var/log/pods/ns_p_u/c/0.log";

const failed = ContainerStatus.fromPartial({
  state: ContainerState.CONTAINER_EXITED,
  exitCode: 3,
  message: "reported by the runtime",
  logPath: LOG,
  mounts: [{ containerPath: "/dev/termination-log", hostPath: FILE }],
  annotations: {
    [TERMINATION_MESSAGE_PATH]: "/dev/termination-log",
    [TERMINATION_MESSAGE_POLICY]: "FallbackToLogsOnError",
  },
});
const line = (text: string) => `2026-01-01T00:00:00.000000000Z stdout F ${text}\n`;
const refuse = (path: string): never => {
  throw new OutsideError("invalid", `read ${path}: not a regular file`);
};
const hang = () => new Promise<never>(() => {});

interface Row {
  readonly name: string;
  readonly read: (path: string) => string | undefined | Promise<never>;
  readonly message: string;
  readonly status?: ContainerStatus;
}

const ROWS: readonly Row[] = [
  {
    name: "what the container wrote",
    read: (path) => (path === FILE ? "written" : refuse(path)),
    message: "reported by the runtime: written",
  },
  {
    name: "the log's end where nothing was written",
    read: (path) => (path === FILE ? "" : line("from the log")),
    message: "reported by the runtime: from the log\n",
  },
  {
    name: "no file and no log",
    read: () => undefined,
    message: "reported by the runtime",
  },
  {
    name: "a file that cannot be read is reported, and the log is not asked",
    read: (path) => (path === FILE ? refuse(path) : line("from the log")),
    message: `reported by the runtime: Error on reading termination log ${FILE}: read ${FILE}: not a regular file`,
  },
  {
    name: "a log that cannot be read is reported",
    read: (path) => (path === FILE ? "" : refuse(path)),
    message: `reported by the runtime: Error on reading termination message from logs: read ${LOG}: not a regular file`,
  },
  {
    name: "a file that hangs is reported",
    read: (path) => (path === FILE ? hang() : line("from the log")),
    message: `reported by the runtime: Error on reading termination log ${FILE}: read ${FILE}: the file system did not answer within 5 s`,
  },
  {
    name: "a log that hangs is reported",
    read: (path) => (path === FILE ? "" : hang()),
    message: `reported by the runtime: Error on reading termination message from logs: read ${LOG}: the file system did not answer within 5 s`,
  },
  {
    name: "nothing is read of a container that succeeded",
    read: (path) => (path === FILE ? "" : refuse(path)),
    message: "",
    status: ContainerStatus.fromPartial({ ...failed, message: "", exitCode: 0 }),
  },
  {
    name: "nothing is read of a container that runs",
    read: refuse,
    message: "",
    status: ContainerStatus.fromPartial({ ...failed, state: ContainerState.CONTAINER_RUNNING }),
  },
];

for (const { name, read, message, status = failed } of ROWS)
  test(`terminationMessage: ${name}`, async () => {
    const clock = new SimClock();
    const readTail: ReadTail = async ({ root, relativePath }) => read(`${root}/${relativePath}`);
    const { signal } = new AbortController();
    const result = terminationMessage(status, { clock, readTail }, signal);
    await clock.advance(12_000);
    assert.equal(await result, message);
  });

test("terminationMessage: all parts of the paths that pods can change are reached without following links", async () => {
  const clock = new SimClock();
  const places: unknown[] = [];
  const readTail: ReadTail = async (place) => {
    places.push(place);
    return "";
  };
  const { signal } = new AbortController();
  await terminationMessage(failed, { clock, readTail }, signal);
  assert.deepEqual(places, [
    { root: "/var/lib/kubelet", relativePath: "pods/u/containers/c/1" },
    { root: "/var/log/pods", relativePath: "ns_p_u/c/0.log" },
  ]);
});
