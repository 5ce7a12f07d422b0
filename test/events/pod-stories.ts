// Stories of pods.
import { type AgentWorld, IMAGE, response } from "./agent-world.ts";
import { EXIT, NO_DNS, type Story } from "./story.ts";

const PRESENT = `Normal Pulled {c}: Container image "${IMAGE}" already present on machine and can be accessed by the pod`;
const CREATED = "Normal Created {c}: Container created";
const STARTED = "Normal Started {c}: Container started";
const STOPPING = "Normal Killing {c}: Stopping container c";
const FAILING_HOOK = ["/bin/sh", "-c", "sleep 0; exit 7"];
const DEAD: ReturnType<AgentWorld["http"]> = {
  kind: "failure",
  message: 'Get "http://10.1.0.2:80/": connection refused',
};

/** What users see about a pod. */
export const POD_STORIES: readonly Story[] = [
  {
    name: "a pod that runs and is ended",
    live: async (world) => {
      await world.setDesired("web");
      await world.drop("web");
    },
    reported: [PRESENT, CREATED, STARTED, STOPPING],
  },
  {
    name: "a crash loop",
    live: async (world) => {
      await world.setDesired("web", { program: EXIT });
      await world.clock.advance(60_000);
    },
    reported: [
      PRESENT,
      CREATED,
      STARTED,
      "Warning BackOff {c}: Back-off restarting failed container c in pod web_default(uid-web)",
    ],
  },
  {
    name: "an image that is pulled",
    live: (world) => world.setDesired("web", { image: "nodelet.test/other:1" }),
    reported: [
      'Normal Pulling {c}: Pulling image "nodelet.test/other:1"',
      'Normal Pulled {c}: Successfully pulled image "nodelet.test/other:1" in 0s (0s including waiting). Image size: 1000 bytes.',
      CREATED,
      STARTED,
    ],
  },
  {
    name: "a missing image",
    live: async (world) => {
      await world.setDesired("web", { image: "registry.test/none:1" });
      await world.clock.advance(30_000);
    },
    reported: [
      'Normal Pulling {c}: Pulling image "registry.test/none:1"',
      'Warning Failed {c}: Failed to pull image "registry.test/none:1": registry.test/none:1: not found',
      "Warning Failed {c}: Error: ErrImagePull",
      'Normal BackOff {c}: Back-off pulling image "registry.test/none:1"',
      "Warning Failed {c}: Error: ImagePullBackOff",
    ],
  },
  {
    name: "an image that must be there and is not",
    live: (world) =>
      world.setDesired("web", { image: "nodelet.test/other:1", imagePullPolicy: "Never" }),
    reported: [
      'Warning ErrImageNeverPull {c}: Container image "nodelet.test/other:1" is not present with pull policy of Never',
      "Warning Failed {c}: Error: ErrImageNeverPull",
    ],
  },
  {
    name: "an image that cannot be inspected",
    live: async (world) => {
      world.faults.set("imageStatus", "disk is gone");
      await world.setDesired("web");
    },
    reported: [
      `Warning InspectFailed {c}: Failed to inspect image "${IMAGE}": disk is gone`,
      "Warning Failed {c}: Error: ImageInspectError",
    ],
  },
  {
    name: "a container that cannot be created",
    live: async (world) => {
      world.faults.set("createContainer", "no such device");
      await world.setDesired("web");
    },
    reported: [PRESENT, "Warning Failed {c}: Error: no such device"],
  },
  {
    name: "a container that cannot be started",
    live: async (world) => {
      world.faults.set("startContainer", "exec format error");
      await world.setDesired("web");
    },
    reported: [PRESENT, CREATED, "Warning Failed {c}: Error: exec format error"],
  },
  {
    name: "a post-start hook that fails",
    live: (world) =>
      world.setDesired("web", { lifecycle: { postStart: { exec: { command: FAILING_HOOK } } } }),
    reported: [
      STARTED,
      "Warning FailedPostStartHook {c}: PostStartHook failed",
      "Normal Killing {c}: FailedPostStartHook",
    ],
  },
  {
    name: "a pre-stop hook that fails",
    live: async (world) => {
      await world.setDesired("web", {
        lifecycle: { preStop: { exec: { command: FAILING_HOOK } } },
      });
      await world.drop("web");
    },
    reported: [STARTED, STOPPING, "Warning FailedPreStopHook {c}: PreStopHook failed"],
  },
  {
    name: "a hook over HTTPS that is answered in HTTP",
    live: async (world) => {
      world.http = ({ url }) =>
        url.startsWith("https:")
          ? {
              kind: "failure",
              message: `Get "${url}": http: server gave HTTP response to HTTPS client`,
            }
          : response(200);
      const httpGet = { scheme: "HTTPS", host: "hook.test", port: 8443, path: "/" };
      await world.setDesired("web", { lifecycle: { postStart: { httpGet } } });
    },
    reported: [
      STARTED,
      "Warning LifecycleHTTPFallback: request to HTTPS lifecycle hook hook.test:8443 got HTTP response, retry with HTTP succeeded",
    ],
  },
  {
    name: "a liveness probe that fails",
    live: async (world) => {
      await world.setDesired("web", {
        livenessProbe: { httpGet: { port: 80 }, periodSeconds: 1, failureThreshold: 2 },
      });
      world.http = () => response(500, "broken");
      await world.clock.advance(5_000);
    },
    reported: [
      STARTED,
      "Warning Unhealthy {c}: Liveness probe failed: HTTP probe failed with statuscode: 500",
      "Normal Killing {c}: Container c failed liveness probe, will be restarted",
    ],
  },
  {
    name: "a readiness probe that gets no answer",
    live: async (world) => {
      world.http = () => DEAD;
      await world.setDesired("web", {
        readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 },
      });
    },
    reported: [
      STARTED,
      'Warning Unhealthy {c}: Readiness probe failed: Get "http://10.1.0.2:80/": connection refused',
    ],
  },
  {
    name: "a probe that is sent elsewhere",
    live: async (world) => {
      world.http = () => ({ kind: "response", status: 302, body: "moved", redirectedAway: true });
      await world.setDesired("web", {
        readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 },
      });
    },
    reported: [
      STARTED,
      "Warning ProbeWarning {c}: Readiness probe warning: Probe terminated redirects, Response body: moved",
    ],
  },
  {
    name: "a sandbox that cannot be made",
    live: async (world) => {
      world.faults.set("runSandbox", "network is broken");
      await world.setDesired("web");
    },
    reported: ["Warning FailedCreatePodSandBox: Failed to create pod sandbox: network is broken"],
  },
  {
    name: "a sandbox whose status cannot be had",
    live: async (world) => {
      world.faults.set("sandboxStatus", "it does not answer");
      await world.setDesired("web");
    },
    reported: [
      "Warning FailedPodSandBoxStatus: Unable to get pod sandbox status: it does not answer",
    ],
  },
  {
    name: "a sandbox that dies",
    live: async (world) => {
      await world.setDesired("web");
      for (const id of world.runtime.sandboxes.keys()) world.runtime.killSandbox(id);
      await world.clock.advance(30_000);
    },
    reported: [
      STARTED,
      "Normal SandboxChanged: Pod sandbox changed, it will be killed and re-created.",
    ],
  },
  {
    name: "a container that does not end",
    live: async (world) => {
      await world.setDesired("web");
      world.faults.set("stopContainer", "shim is stuck");
      await world.drop("web");
    },
    reported: [
      STOPPING,
      'Warning FailedKillPod: error killing pod: failed to "KillContainer" for "c" with KillContainerError: "shim is stuck"',
    ],
  },
  {
    name: "a sandbox that does not end",
    live: async (world) => {
      await world.setDesired("web");
      world.faults.set("stopSandbox", "network stays");
      await world.drop("web");
    },
    reported: [
      STOPPING,
      'Warning FailedKillPod: error killing pod: failed to "KillPodSandbox" for "uid-web" with KillPodSandboxError: "network stays"',
    ],
  },
  {
    name: "a runtime that cannot say what it has",
    live: async (world) => {
      world.faults.set("sandboxStatus", "broken store");
      await world.setDesired("web");
    },
    reported: ["Warning FailedSync: error determining status: sandbox sandbox-1: broken store"],
  },
  {
    name: "a cgroup that cannot be made",
    live: async (world) => {
      world.faults.set("cgroup.create", "no space left on device");
      await world.setDesired("web");
    },
    reported: [
      "Warning FailedCreatePodContainer: unable to ensure pod container exists: no space left on device",
    ],
  },
  {
    name: "folders that cannot be made",
    live: async (world) => {
      world.faults.set("makeDirectory", "read-only file system");
      await world.setDesired("web");
    },
    reported: ["Warning Failed: error making pod data directories: read-only file system"],
  },
  {
    name: "a bad mount",
    world: { files: { "/srv/file": "" } },
    live: (world) =>
      world.setDesired(
        "web",
        { volumeMounts: [{ name: "data", mountPath: "/data" }] },
        { volumes: [{ name: "data", hostPath: { path: "/srv/file", type: "Directory" } }] },
      ),
    reported: [
      `Warning FailedMount: MountVolume.SetUp failed for volume "data" : hostPath type check failed: /srv/file is not a directory, it's a File`,
    ],
  },
  {
    name: "a network that is not there",
    live: async (world) => {
      world.runtime.options.networkReady = false;
      await world.clock.advance(10_000);
      await world.setDesired("web");
    },
    reported: [
      "Warning NetworkNotReady: network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no network",
    ],
  },
  {
    name: "a pod that is too large",
    live: (world) => world.setDesired("web", { resources: { requests: { cpu: "100" } } }),
    reported: [
      "Warning OutOfcpu: Node didn't have enough resource: cpu, requested: 100000, used: 0, capacity: 3000",
    ],
  },
  {
    name: "a pod that is active for too long",
    live: async (world) => {
      await world.setDesired("web", {}, { activeDeadlineSeconds: 10 });
      await world.clock.advance(30_000);
    },
    reported: [
      STARTED,
      "Normal DeadlineExceeded: Pod was active on the node longer than the specified deadline",
      STOPPING,
    ],
  },
  {
    name: "a pod whose resolver is the node's",
    live: (world) => world.setDesired("web"),
    reported: [`Warning MissingClusterDNS: pod: "web_default(uid-web)". ${NO_DNS}`],
  },
  {
    name: "a pod with too many name servers",
    live: (world) => world.setDesired("web", {}, { dnsPolicy: "Default" }),
    world: {
      files: {
        "/etc/resolv.conf": [1, 2, 3, 4].map((i) => `nameserver 192.0.2.${i}`).join("\n"),
      },
    },
    reported: [
      "Warning DNSConfigForming: Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 192.0.2.1 192.0.2.2 192.0.2.3",
    ],
  },
];
