// pure
import type { ContainerStatus, PodStatus } from "../../api/generated/types.ts";
import { HttpProblem } from "../http-problem.ts";

/** Which attempt of a container has the log that is asked for. */
interface LogSource {
  /** With the runtime's name as scheme, as the status has it. */
  readonly containerId: string;
}

/**
 * The attempt whose log is shown: the present one, the one before with `previous`, or the last one when
 * none runs. Throws `HttpProblem` with the Go kubelet's words where there is no log yet or no more
 * (kubelet_pods.go validateContainerLogStatus).
 */
export function chooseLogSource(
  status: PodStatus,
  at: { readonly pod: string; readonly container: string },
  previous: boolean,
): LogSource {
  const what = `container ${JSON.stringify(at.container)} in pod ${JSON.stringify(at.pod)}`;
  const found = statusOf(status, at.container);
  if (!found) throw new HttpProblem(400, `${what} is not available`);
  const before = found.lastState?.terminated;
  if (previous) {
    if (!before?.containerID) throw new HttpProblem(400, `previous terminated ${what} not found`);
    return { containerId: before.containerID };
  }
  const { running, terminated, waiting } = found.state ?? {};
  if (running) return { containerId: found.containerID ?? "" };
  if (terminated || before) {
    const containerId = terminated?.containerID || before?.containerID;
    if (!containerId) throw new HttpProblem(400, `${what} is terminated`);
    return { containerId };
  }
  throw new HttpProblem(400, `${what} is waiting to start${waitingText(waiting?.reason)}`);
}

function waitingText(reason: string | undefined): string {
  if (reason === undefined) return " - no logs yet";
  if (reason === "ErrImagePull") return ": image can't be pulled";
  if (reason === "ImagePullBackOff") return ": trying and failing to pull image";
  return `: ${reason}`;
}

function statusOf(status: PodStatus, name: string): ContainerStatus | undefined {
  return [
    ...(status.containerStatuses ?? []),
    ...(status.initContainerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ].find((each) => each.name === name);
}

/** The runtime's own id of a container that the status names `containerd://<id>`. */
export function bareContainerId(containerId: string): string {
  const at = containerId.indexOf("://");
  return at < 0 ? containerId : containerId.slice(at + 3);
}
