/** `control-plane`: what the agent can see of the control plane on its node, read when it is asked. */
import type { Pod } from "../../api/generated/types.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import { parseCertificate } from "../../outside/x509/x509.ts";
import { type Call, replyJson } from "../call.ts";
import type { ServedNode } from "../served-node.ts";
import { shownPods } from "../shown-pods.ts";
import {
  type ControlPlaneComponent,
  certificateFiles,
  componentOf,
  embeddedCertificates,
  etcdAlarms,
  etcdSizes,
  metricsAddress,
} from "./control-plane-facts.ts";

/** The control plane on this node. */
export interface ControlPlaneReport {
  /** Unix milliseconds when it was read. */
  readonly atMs: number;
  /** None on other nodes. */
  readonly components: readonly ControlPlaneComponent[];
  /** Absent where the etcd is elsewhere. */
  readonly etcd?: EtcdReading;
  /** Those that the components use, the first to end first. */
  readonly certificates: readonly CertificateEnd[];
}

/** The data of an etcd; `problem` says why it is not known. */
type EtcdReading =
  | {
      readonly bytes: number;
      readonly quotaBytes: number | undefined;
      readonly alarms: readonly string[];
    }
  | { readonly problem: string };

interface CertificateEnd {
  readonly path: string;
  /** Unix milliseconds. */
  readonly endsAtMs: number;
}

const ANSWER_MS = 5_000;
const MAX_METRICS_BYTES = 4 * 1024 * 1024;
const MAX_FILE_BYTES = 256 * 1024;

/** Answers the route. */
export async function replyControlPlane(call: Call, node: ServedNode, clock: Clock): Promise<void> {
  const pods = shownPods(node, clock).filter((pod) => componentOf(pod) !== undefined);
  const components = pods.flatMap((pod) => componentOf(pod) ?? []);
  const urls = pods.flatMap((pod) => metricsAddress(pod) ?? []);
  const etcd = urls[0] === undefined ? {} : { etcd: await readEtcd(node, urls[0], call.signal) };
  const report: ControlPlaneReport = {
    atMs: clock.wall(),
    components,
    ...etcd,
    certificates: await readCertificates(node, pods),
  };
  await replyJson(call, report);
}

type Asked =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "problem"; readonly problem: string };

async function readEtcd(
  { reach }: ServedNode,
  url: string,
  signal: AbortSignal,
): Promise<EtcdReading> {
  const ask = async (path: string): Promise<Asked> => {
    const answer = await reach.net.http(
      {
        url: `${url}${path}`,
        method: "GET",
        headers: [],
        timeoutMs: ANSWER_MS,
        maxBodyBytes: MAX_METRICS_BYTES,
        followSameHost: false,
      },
      signal,
    );
    return answer.kind === "response"
      ? { kind: "text", text: answer.body }
      : { kind: "problem", problem: answer.message };
  };
  const metrics = await ask("/metrics");
  if (metrics.kind === "problem") return { problem: metrics.problem };
  const sizes = etcdSizes(metrics.text);
  if (sizes === undefined) return { problem: `${url}/metrics has no size of etcd's data` };
  const health = await ask("/health");
  if (health.kind === "problem") return { problem: health.problem };
  return { ...sizes, alarms: etcdAlarms(health.text) };
}

async function readCertificates(
  { reach }: ServedNode,
  pods: readonly Pod[],
): Promise<readonly CertificateEnd[]> {
  const found: CertificateEnd[] = [];
  for (const path of new Set(pods.flatMap(certificateFiles))) {
    const text = await reach.files.readText(path, { maxBytes: MAX_FILE_BYTES });
    for (const endsAtMs of endsOf(path, text ?? "")) found.push({ path, endsAtMs });
  }
  return found.toSorted((a, b) => a.endsAtMs - b.endsAtMs);
}

/** A file that is no certificate is the component's own problem. */
function endsOf(path: string, text: string): readonly number[] {
  try {
    if (!path.endsWith(".conf")) return [parseCertificate(text).notAfter];
    return embeddedCertificates(text).map((data) => {
      const pem = Buffer.from(data, "base64").toString("utf8");
      return parseCertificate(pem).notAfter;
    });
  } catch (error) {
    if (!isOutside(error)) throw error;
    return [];
  }
}
