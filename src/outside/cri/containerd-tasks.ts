import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { isOutside, messageOf } from "../../kit/errors.ts";
import type { GrpcChannel, GrpcMethod } from "../grpc/channel.ts";

/**
 * containerd's task service, on the same socket. A StartContainer that is cancelled while runc creates the process, as when the
 * agent is killed, leaves a task that containerd's CRI service does not know: the container is exited, StopContainer does
 * nothing, and RemoveContainer fails for ever (containerd api/services/tasks/v1; seen with containerd 1.6).
 */
const SERVICE = "containerd.services.tasks.v1.Tasks";
/** The namespace CRI works in. */
const HEADERS = { "containerd-namespace": "k8s.io" };
/** What containerd answers to the removal of a container with such a task. */
const LEFT_TASK = /cannot delete running task/;
const SIGKILL = 9;

interface TaskRequest {
  readonly containerId: string;
}

type TaskMethod = GrpcMethod<TaskRequest, object>;

/** A method of which only success matters; all requests begin with container_id = 1. */
function taskMethod(name: string, encodeMore?: (writer: BinaryWriter) => void): TaskMethod {
  return {
    name,
    requestType: {
      encode: ({ containerId }) => {
        const writer = new BinaryWriter().uint32((1 << 3) | 2).string(containerId);
        encodeMore?.(writer);
        return writer;
      },
    },
    responseType: { decode: () => ({}) },
  };
}

/** KillRequest{ signal = 3, all = 4 }. */
const KILL = taskMethod("Kill", (writer) => {
  writer
    .uint32(3 << 3)
    .uint32(SIGKILL)
    .uint32(4 << 3)
    .bool(true);
});
const WAIT = taskMethod("Wait");
const DELETE = taskMethod("Delete");

/** Whether a container could not be removed because of a task that containerd's CRI service does not know. */
export function isLeftTask(error: unknown): boolean {
  return isOutside(error, "precondition") && LEFT_TASK.test(messageOf(error));
}

/** Kills such a task of a container and removes it. Throws `OutsideError`. */
export async function removeLeftTask(
  channel: GrpcChannel,
  containerId: string,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<void> {
  for (const method of [KILL, WAIT, DELETE])
    try {
      await channel.unary(
        method,
        SERVICE,
        { containerId },
        { signal, timeoutMs, headers: HEADERS },
      );
    } catch (error) {
      // Its process has ended by itself, or containerd has removed the task meanwhile.
      if (!isOutside(error, "notFound")) throw error;
    }
}
