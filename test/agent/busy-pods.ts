/** Thirty pods of a busy node: most are probed, some crash, some come and go, some read what changes. */
import type { Container, Pod } from "../../src/api/generated/types.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { podOf } from "../kube/cluster-node.ts";
import { STAY } from "../support/agent.ts";

/** Object that the readers mount. */
export const CONFIG_MAP = "settings";
/** Names of the pods that come and go. */
export const CHANGING: readonly string[] = [0, 1, 2, 3, 4, 5].map((n) => `changing-${n}`);

const HTTP = ["sh", "-c", "trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait $!"];

/** A steady container with a liveness and a readiness probe of one kind. */
function probed(command: readonly string[], handler: object, periodSeconds: number): Container {
  // Longer than a busy machine takes, so that only a wrong verdict restarts it.
  const probe = { ...handler, periodSeconds, timeoutSeconds: 20, failureThreshold: 3 };
  const base = { name: "main", image: TEST_IMAGE, command: [...command] };
  return { ...base, livenessProbe: probe, readinessProbe: probe };
}

/** Pods that nothing ever restarts. */
export function steadyPods(): readonly Pod[] {
  const kinds: readonly Container[] = [
    probed(HTTP, { httpGet: { path: "/", port: 8080 } }, 2),
    probed(HTTP, { tcpSocket: { port: 8080 } }, 2),
    probed(STAY, { exec: { command: ["true"] } }, 10),
  ];
  return kinds.flatMap((container, kind) =>
    [0, 1, 2, 3].map((n) => podOf(`steady-${kind}-${n}`, { containers: [container] })),
  );
}

/** Pods that end after some seconds, over and over again, with and without an error. */
export function crashingPods(): readonly Pod[] {
  return [0, 1, 2, 3, 4, 5, 6, 7].map((n) => {
    const command = ["sh", "-c", `echo crash ${n} >&2; sleep ${1 + 3 * n}; exit ${n % 3}`];
    const containers = [{ name: "main", image: TEST_IMAGE, command }];
    return podOf(`crashing-${n}`, { containers });
  });
}

/** A pod that is replaced by another of its name. */
export function changingPod(name: string): Pod {
  return podOf(name, { volumes: [{ name: "data", emptyDir: {} }] });
}

/** Pods that mount an object that changes and write more to their logs than is kept. */
export function readingPods(): readonly Pod[] {
  const command = [
    "sh",
    "-c",
    "trap 'exit 0' TERM; while true; do cat /settings/text; head -c 600 /dev/zero | tr '\\0' x; echo; sleep 1; done",
  ];
  const volumeMounts = [{ name: "settings", mountPath: "/settings" }];
  const volumes = [{ name: "settings", configMap: { name: CONFIG_MAP } }];
  const containers = [{ name: "main", image: TEST_IMAGE, command, volumeMounts }];
  return [0, 1, 2, 3].map((n) => podOf(`reading-${n}`, { containers, volumes }));
}
