/** Whether an OCI runtime can run a container of our containerd: it is asked to run one. */
import { plainMessageOf } from "../../../kit/errors.ts";
import type { ContainerConfig, DeepPartial, PodSandboxConfig } from "../../../outside/cri/cri.ts";
import { NamespaceMode, SecurityProfile_ProfileType } from "../../../outside/cri/generated/api.ts";
import { PAUSE_IMAGE } from "../../local-images/local-images.ts";
import { type RuntimeConnection, withRuntime } from "../../runtime/query-runtime.ts";

/** For each call; a machine may be busy, and what takes longer is no runtime to offer. */
const CALL_MS = 30_000;
/** By which what an interrupted trial left is found. */
const LABELS = { "nodelet.dev/trial": "oci-runtime" };
const MEMORY_BYTES = 32n * 1024n ** 2n;

/** Why the handler cannot run a container, in the words of containerd; undefined when it has run one. */
export async function runtimeProblem(
  socket: string,
  handler: string,
  cgroupParent: string,
): Promise<string | undefined> {
  return await withRuntime(
    socket,
    async (cri, signal) => {
      await removeTrials(cri, signal);
      try {
        await runOne(cri, { handler, cgroupParent }, signal);
        return undefined;
      } catch (thrown) {
        return plainMessageOf(thrown).trim();
      } finally {
        await removeTrials(cri, signal);
      }
    },
    { callMs: CALL_MS },
  );
}

/** With what most pods have: limits, a filter of system calls, a root file system that takes no writes. */
async function runOne(
  { runtime }: RuntimeConnection,
  { handler, cgroupParent }: { readonly handler: string; readonly cgroupParent: string },
  signal: AbortSignal,
): Promise<void> {
  const namespaceOptions = {
    network: NamespaceMode.NODE,
    pid: NamespaceMode.CONTAINER,
    ipc: NamespaceMode.POD,
  };
  const seccomp = { profileType: SecurityProfile_ProfileType.RuntimeDefault };
  const sandbox: DeepPartial<PodSandboxConfig> = {
    metadata: { name: `trial-${handler}`, namespace: "nodelet", uid: handler, attempt: 0 },
    labels: LABELS,
    linux: { cgroupParent, securityContext: { namespaceOptions, seccomp } },
  };
  const container: DeepPartial<ContainerConfig> = {
    metadata: { name: "trial", attempt: 0 },
    image: { image: PAUSE_IMAGE },
    labels: LABELS,
    linux: {
      resources: { memoryLimitInBytes: MEMORY_BYTES, cpuShares: 2n },
      securityContext: { namespaceOptions, seccomp, noNewPrivs: true, readonlyRootfs: true },
    },
  };
  const id = await runtime.runSandbox(sandbox, handler, signal);
  const made = await runtime.createContainer(id, container, sandbox, signal);
  await runtime.startContainer(made, signal);
  await runtime.stopContainer(made, 0, signal);
}

async function removeTrials({ runtime }: RuntimeConnection, signal: AbortSignal): Promise<void> {
  for (const { id } of await runtime.listSandboxes({ labelSelector: LABELS }, signal)) {
    await runtime.stopSandbox(id, signal);
    await runtime.removeSandbox(id, signal);
  }
}
