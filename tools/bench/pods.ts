// pure
import type { Pod } from "../../src/api/generated/types.ts";

/** Label by which the bench finds its pods again, whatever the kubelet makes of their names. */
export const POD_LABEL = "nodelet-bench/pod";

/** Port that pods with probes listen on. */
const PORT = 8080;
/**
 * The pods sleep and do not listen to SIGTERM: each takes this long to end. Kubelets give no container less
 * than two seconds, whatever its pod says.
 */
export const GRACE_SECONDS = 2;

/** A pod of one container that does nothing; with `probes`, two TCP probes connect to it every second. */
export function benchPod(
  name: string,
  image: string,
  { probes = false }: { readonly probes?: boolean } = {},
): Pod {
  const probe = { tcpSocket: { port: PORT }, periodSeconds: 1 };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "bench", labels: { [POD_LABEL]: name } },
    spec: {
      terminationGracePeriodSeconds: GRACE_SECONDS,
      containers: [
        {
          name: "main",
          image,
          imagePullPolicy: "IfNotPresent",
          command: probes ? ["serve", String(PORT)] : ["sleep", "2147483647"],
          ...(probes ? { readinessProbe: probe, livenessProbe: probe } : {}),
        },
      ],
    },
  };
}
