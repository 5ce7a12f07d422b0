// Runs one pod on this machine's containerd from a program of your own, says what becomes of it, and
// ends it on Ctrl-C. As root, with containerd running:
//
//   node examples/embed/run-a-pod.ts IMAGE -- COMMAND [ARG...]
//
// In your project the import is `from "nodelet"`.
import { hostname } from "node:os";
import { parseArgs } from "node:util";
import {
  type Admit,
  connectOutside,
  createLog,
  DEFAULT_CONFIG,
  defaultPod,
  type Pod,
  type PodSource,
  type StatusSink,
  startAgent,
} from "../../src/library.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    endpoint: { type: "string", default: "unix:///run/containerd/containerd.sock" },
    root: { type: "string", default: "/var/lib/nodelet-example" },
  },
});
const [image, ...command] = positionals;
if (image === undefined)
  throw new Error("which image? node run-a-pod.ts IMAGE -- COMMAND [ARG...]");

const pod: Pod = defaultPod({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "example", namespace: "default", uid: "example-1" },
  spec: {
    terminationGracePeriodSeconds: 2,
    restartPolicy: "OnFailure",
    containers: [{ name: "main", image, ...(command.length > 0 ? { command } : {}) }],
  },
});

const leave = new AbortController();
process.once("SIGINT", () => leave.abort(new Error("Ctrl-C")));

/** Runs the pod until Ctrl-C, then drops it. */
const source: PodSource = {
  name: "example",
  follow: async (sink, signal) => {
    sink.setDesired(pod);
    sink.synced();
    const drop = () => sink.drop("example-1");
    leave.signal.addEventListener("abort", drop, { once: true });
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    leave.signal.removeEventListener("abort", drop);
  },
};

/** An admission rule: two processors at most. */
const admit: Admit = async ({ pod: candidate }) => {
  const cpus =
    candidate.spec?.containers.map(({ resources }) => Number(resources?.limits?.["cpu"] ?? 0)) ??
    [];
  return cpus.some((cpu) => cpu > 2)
    ? {
        kind: "reject",
        rule: "two processors",
        reason: "TooLarge",
        message: "no container may have more than two",
      }
    : { kind: "admit", rules: 1 };
};

const gone = new AbortController();
const onStatus: StatusSink = (_, now) => {
  if (!now) gone.abort(new Error("the pod is gone"));
  const waiting = now?.status.containerStatuses?.[0]?.state?.waiting;
  console.log(now ? `${now.status.phase} ${waiting?.reason ?? ""}`.trimEnd() : "gone");
};

const outside = connectOutside(
  { runtimeEndpoint: values.endpoint, imageEndpoint: values.endpoint, runtimeTimeoutMs: 120_000 },
  createLog({ format: "text", verbosity: 0, fd: 2 }),
);
const options = {
  config: { ...DEFAULT_CONFIG, enableServer: false },
  nodeName: hostname().toLowerCase(),
  rootFolder: values.root,
};
const agent = await startAgent(options, outside, { admit, sources: [source], onStatus });
await agent.untilLeaving(gone.signal);
await agent[Symbol.asyncDispose]();
outside.close();
