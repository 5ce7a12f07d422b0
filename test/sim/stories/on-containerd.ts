// Which stories are played on real containerd as well, and why the others are not.

/** Lines of the page that the real runtime words otherwise, `*` for any text. */
export type OtherWords = Readonly<Record<string, string>>;

const PULL = { "ErrImagePull: ": "not started  Failed to start *: ErrImagePull: *" };
const RUN = { "RunContainerError: ": "not started  Failed to *: RunContainerError: *" };
/** What the node has is another thing on every machine. */
const SIZE = {
  "Node didn't have enough resource":
    "rejected  Rejected by the check * Node didn't have enough resource: *, requested: *, used: *, capacity: *.",
};

/** By name of the story; lines that hold the key are expected as the value. */
export const ON_CONTAINERD: Readonly<Record<string, OtherWords>> = {
  "no node has the CPU that it requests": {},
  "no node has the memory that it requests": {},
  "no node has the labels of its nodeSelector": {},
  "it waits to be scheduled for a claim that does not exist": {},
  "it has scheduling gates": {},
  "its scheduler does not run": {},
  "it is assigned to another node": {},
  "another pod has the host port": {},
  "it requests more CPU than the node has": SIZE,
  "it requests more memory than the node has": SIZE,
  "its nodeSelector does not match the node": {},
  "it is for another operating system": {},
  "it sets a sysctl that the node does not allow": {},
  "a ConfigMap that it mounts does not exist": {},
  "a ConfigMap that it mounts is created a minute later": {},
  "a ConfigMap that it mounts is missing a key": {},
  "a Secret that it mounts does not exist": {},
  "its PersistentVolumeClaim does not exist": {},
  "its PersistentVolumeClaim is not bound": {},
  "its PersistentVolume is of a kind that is not supported": {},
  "its PersistentVolume is on another node": {},
  "a hostPath folder does not exist": {},
  "a hostPath is a folder and not a file": {},
  "a variable is taken from a ConfigMap that does not exist": {},
  "a variable is taken from a Secret that does not exist": {},
  "a variable is taken from a key that is missing in its ConfigMap": {},
  "all variables are taken from a Secret that is created later": {},
  "a subPath leads out of its volume": {},
  "its image does not exist": PULL,
  "the registry cannot be reached": PULL,
  "the image of one of two containers does not exist": PULL,
  "its image may not be pulled and is not there": {},
  "the name of its image is none": {},
  "it must not run as root, and its image does": {},
  "the command does not exist in the image": RUN,
  "all is well": {},
  "init containers run first": {},
  "an init container is still running": {},
  "an init container fails and is not restarted": {},
  "an init container fails again and again": {},
  "a container fails again and again": {},
  "a container ends well and is restarted all the same": {},
  "a job completes": {},
  "a job fails and is not restarted": {},
  "a job with a sidecar completes": {},
  "a container exceeds its memory limit": {},
  "a container exceeds the memory limit of its pod": {},
  "a container and its pod have a memory limit, and it exceeds its own": {},
  "somebody kills its process": {},
  "its liveness probe fails": {},
  "its startup probe never succeeds": {},
  "its readiness probe fails": {},
  "a readiness gate is not set": {},
  "its post-start hook fails": {
    "postStart hook failed":
      "not started  Started main, then stopped it as its postStart hook failed: *",
  },
  "the end of one container restarts all of them": {},
  "its image is changed in place": {},
  "other resources are asked for than the node has": {
    "Resize is not possible":
      'no resize  Resize is not possible on this node, check "capacity": Node didn\'t have enough capacity: cpu, requested: 100000, capacity: *.',
  },
  "new resources need a restart": {},
  "it is deleted by a user": {},
  "it is deleted and does not stop within its grace period": {},
  "it is deleted and is still stopping": {},
  // The API of the node removes the object with a grace period of 0, for which a pod gets a second.
  "it is deleted by force": {
    "Stopping the pod":
      "stopping  Stopping the pod (grace period 1 second): its object was removed from the API without waiting for the node.",
    "Stopped main": "stopped  Stopped main: the pod is stopping (grace period 1 second).",
  },
  "its pre-stop hook fails": {},
  "it is evicted through the API": {},
  "the node got a taint that it does not tolerate": {},
  "the scheduler preempted it": {},
  "its manifest is removed": {},
  "its manifest is replaced": {},
  "it runs longer than its deadline": {},
  "the agent is restarted while it runs": {},
};

/** Those that end the agent of all, played when the others are over. */
export const AFTER_THE_OTHERS: ReadonlySet<string> = new Set([
  "the agent is restarted while it runs",
]);

const NODE = "changes the node for all pods";
const PRESSURE = "needs a node that is short of memory; `test/eviction` has one";
const REGISTRY = "needs a slow or guarded registry; `test/images` has one";
const RUNTIME = "needs a runtime that fails";
const ALONE = "the API of a node without a cluster ends with its agent";

/** By name of the story. */
export const ONLY_SIMULATED: Readonly<Record<string, string>> = {
  "every node is cordoned": NODE,
  "every node has a taint that it does not tolerate": NODE,
  "the node has as many pods as it may have": NODE,
  "it does not tolerate a taint of the node": NODE,
  "the node is under memory pressure": PRESSURE,
  "it is critical and waits for the end of another pod": "would preempt pods of other stories",
  "a critical pod needs its place": "would preempt pods of other stories",
  "a Secret is missing for longer than volumes are waited for": "takes five minutes",
  "its image does not exist for ten minutes": "takes ten minutes",
  "its image needs credentials": REGISTRY,
  "its image takes 40 seconds to be pulled": REGISTRY,
  "its image is still being pulled": REGISTRY,
  "it was deleted while its image was pulled": REGISTRY,
  "the runtime does not create its sandbox": RUNTIME,
  "the runtime creates its sandbox at the third attempt": RUNTIME,
  "the runtime does not create its container": RUNTIME,
  "its RuntimeClass does not exist": "the API of a node without a cluster refuses such a pod",
  "the runtime has no network": RUNTIME,
  "the runtime has no network for a minute": RUNTIME,
  "the container runtime does not answer": RUNTIME,
  "a container and its pod have a memory limit, and the pod's is exceeded":
    "depends on the version of cgroups",
  "a container and its pod have a memory limit, and cgroup v1 does not show whose is exceeded":
    "depends on the version of cgroups",
  "the node runs out of memory and kills a container": PRESSURE,
  "its sandbox dies": "the runtime reports the ends of sandbox and container in any order",
  "the runtime does not stop its container": RUNTIME,
  "it is evicted for memory": PRESSURE,
  "the agent is killed while its image is pulled": REGISTRY,
  "it was deleted while no agent ran": ALONE,
};
