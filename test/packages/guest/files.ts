/** What the test puts on the disk beside Debian and the package: pods, the configuration, its own programs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TEST_IMAGE } from "../../box/images.ts";

const ROOT = join(import.meta.dirname, "../../..");

const COUNT = Number(process.env["NODELET_GUEST_PODS"] ?? 20);
/** Pods by their priority; static pods are given theirs as a number. */
export const TIERS = [
  { priority: 0, pods: Math.ceil(COUNT * 0.4) },
  { priority: 1_000, pods: Math.floor(COUNT * 0.4) },
  { priority: 2_000_000_000, pods: COUNT - Math.ceil(COUNT * 0.4) - Math.floor(COUNT * 0.4) },
];
/** Static pods of all priorities. */
export const PODS = TIERS.flatMap(({ priority, pods }) =>
  Array.from({ length: pods }, (_, i) => ({ name: `p${priority}-${i}`, priority })),
);
/** Where pods keep their data, a folder for each. */
export const DIARIES = "/var/lib/diaries";

/** Writes its life to a volume: the boot it was started in, when it was asked to end, and when it ended. */
const DIARY = [
  'note() { echo "$1 $(cut -d" " -f1 /proc/uptime) $(cat /proc/sys/kernel/random/boot_id)" >>/data/diary; sync; }',
  "trap 'note asked; sleep 1; note ended; exit 0' TERM",
  "note started",
  "httpd -f -p 8080 -h /www & while :; do wait; sleep 1; done",
].join("\n");

/** The manifest of a pod that is probed and writes to a volume. */
export function manifest(name: string, priority: number): string {
  const get = { httpGet: { port: 8080, path: "/index.html" }, periodSeconds: 10 };
  const probe = { ...get, timeoutSeconds: 10, failureThreshold: 6 };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      priority,
      terminationGracePeriodSeconds: 15,
      containers: [
        {
          name: "main",
          image: TEST_IMAGE,
          imagePullPolicy: "Never",
          command: ["sh", "-c", DIARY],
          readinessProbe: probe,
          livenessProbe: probe,
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
      ],
      // A pod that has ended for the shutdown of the machine leaves no emptyDir.
      volumes: [
        { name: "data", hostPath: { path: `${DIARIES}/${name}`, type: "DirectoryOrCreate" } },
      ],
    },
  });
}

/** Seconds for the pods of one priority: eight of them end within 40 s where nothing else is to be done beside the emulation. */
const SHUTDOWN_SECONDS = 120;

/** The package's own configuration, and a time for pods when the machine goes down. */
function configuration(): string {
  const shipped = readFileSync(join(ROOT, "tools/package/debian/etc/nodelet/config.yaml"), "utf8");
  const periods = TIERS.map(
    ({ priority }) =>
      `  - {priority: ${priority}, shutdownGracePeriodSeconds: ${SHUTDOWN_SECONDS}}`,
  );
  return [shipped, "shutdownGracePeriodByPodPriority:", ...periods, ""].join("\n");
}

/** Files by their paths. */
export function files(): Readonly<Record<string, string>> {
  const text = (name: string) => readFileSync(join(import.meta.dirname, name), "utf8");
  return {
    "/etc/nodelet/config.yaml": configuration(),
    // The watchdog keeps the time that the unit has: it must not end an agent that is only slow.
    "/etc/systemd/system/nodelet.service.d/block.conf":
      "[Service]\nEnvironment=NODE_OPTIONS=--require=/usr/local/lib/block-loop.cjs\n",
    "/usr/local/lib/block-loop.cjs": text("block-loop.cjs"),
    "/usr/local/lib/guest-api": text("api.sh"),
    "/usr/local/lib/write-objects": text("write-objects.sh"),
    ...Object.fromEntries(
      PODS.map(({ name, priority }) => [
        `/etc/nodelet/manifests/${name}.yaml`,
        manifest(name, priority),
      ]),
    ),
  };
}
