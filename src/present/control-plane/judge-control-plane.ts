// pure
/** Whether a control plane is well: what is known of it in, verdicts with what to do about them out. */
import type { Pod } from "../../api/generated/types.ts";
import { podDisplayName } from "../../api/pod/pod.ts";
import { humanBytes } from "../amounts.ts";
import { isReady } from "../readiness.ts";
import type { ControlPlaneReport } from "../shapes.ts";
import { podRow } from "../tables/pod-row.ts";

/** A verdict on a part. */
export interface PartVerdict {
  readonly name: string;
  readonly level: "ok" | "warn" | "fail";
  /** What was found. */
  readonly found: string;
  /** How to mend it; empty for `ok`. */
  readonly fix: string;
}

/** Verdicts on the components on this node, the data of etcd, and the certificates; none on other nodes. */
export function controlPlaneVerdicts(
  { components, etcd, certificates, atMs: nowMs }: ControlPlaneReport,
  pods: readonly Pod[],
): readonly PartVerdict[] {
  const own = components
    .toSorted((a, b) => (a.component < b.component ? -1 : 1))
    .map(({ component, pod }) =>
      judgePod(
        component,
        pods.find((each) => podDisplayName(each) === pod),
        nowMs,
      ),
    );
  if (own.length === 0) return [];
  const ends = certificates.map(({ path, endsAtMs }) => ({
    name: path,
    expirationDate: new Date(endsAtMs).toISOString(),
  }));
  return [
    ...own,
    ...(etcd === undefined ? [] : [judgeReading(etcd)]),
    judgeCertificates(ends, nowMs),
  ];
}

/** The verdicts that say something of the component: its own, and for etcd the one on its data. */
export function verdictsOf(component: string, all: readonly PartVerdict[]): readonly PartVerdict[] {
  const names = component === "etcd" ? [component, ETCD_DATA] : [component];
  return all.filter(({ name }) => names.includes(name));
}

function judgePod(component: string, pod: Pod | undefined, nowMs: number): PartVerdict {
  if (pod !== undefined && isReady(pod))
    return { name: component, level: "ok", found: "healthy", fix: "" };
  const { status, why } = pod === undefined ? { status: "ended", why: "" } : podRow(pod, nowMs);
  return {
    name: component,
    level: "fail",
    found: why === "" ? `not ready: ${status}` : why,
    fix: `nodelet why kube-system/${component}`,
  };
}

const ETCD_DATA = "etcd's data";

function judgeReading(etcd: NonNullable<ControlPlaneReport["etcd"]>): PartVerdict {
  if ("bytes" in etcd) return judgeEtcd(etcd);
  const fix = "nodelet why kube-system/etcd";
  return { name: ETCD_DATA, level: "warn", found: `unknown: ${etcd.problem}`, fix };
}

/** Size and alarms of a machine's etcd. */
interface EtcdHealth {
  readonly bytes: number;
  /** Undefined: its default. */
  readonly quotaBytes: number | undefined;
  /** Names like `NOSPACE`. */
  readonly alarms: readonly string[];
}

/** etcd's default for --quota-backend-bytes. */
const DEFAULT_QUOTA_BYTES = 2 * 1024 ** 3;
/** Share of its quota from which on etcd is near the end. */
const NEARLY_FULL = 0.8;

/** The verdict on etcd's data. */
export function judgeEtcd({
  bytes,
  quotaBytes = DEFAULT_QUOTA_BYTES,
  alarms,
}: EtcdHealth): PartVerdict {
  const name = ETCD_DATA;
  const size = `${humanBytes(bytes)} of ${humanBytes(quotaBytes)}`;
  if (alarms.length > 0)
    return {
      name,
      level: "fail",
      found: `${size}, alarm ${alarms.join(", ")}`,
      fix: "etcd takes no more changes: compact and defragment it, then etcdctl alarm disarm",
    };
  if (bytes > quotaBytes * NEARLY_FULL)
    return { name, level: "warn", found: size, fix: "compact and defragment it soon" };
  return { name, level: "ok", found: size, fix: "" };
}

/** A certificate, in the words of kubeadm's list. */
export interface EndingCertificate {
  readonly name: string;
  readonly expirationDate: string;
  readonly missing?: boolean;
}

const DAY_MS = 24 * 3_600_000;
const SOON_DAYS = 30;

/** The verdict on all certificates: the one that ends first counts. */
export function judgeCertificates(all: readonly EndingCertificate[], nowMs: number): PartVerdict {
  const name = "certificates";
  const known = all
    .filter(({ missing }) => missing !== true)
    .map((each) => ({
      ...each,
      days: Math.floor((Date.parse(each.expirationDate) - nowMs) / DAY_MS),
    }))
    .toSorted((a, b) => a.days - b.days);
  const [first] = known;
  if (first === undefined)
    return { name, level: "warn", found: "none found", fix: "kubeadm certs check-expiration" };
  const soon = known.filter(({ days }) => days < SOON_DAYS);
  const date = first.expirationDate.slice(0, 10);
  if (soon.length === 0)
    return { name, level: "ok", found: `the first ends on ${date} (${first.name})`, fix: "" };
  const ended = soon.filter(({ days }) => days < 0);
  const names = (ended.length > 0 ? ended : soon).map((each) => each.name).join(", ");
  return {
    name,
    level: ended.length > 0 ? "fail" : "warn",
    found:
      ended.length > 0
        ? `ended: ${names}`
        : `end within ${SOON_DAYS} days, the first on ${date}: ${names}`,
    fix: "kubeadm certs renew all, then restart the control plane's pods by moving their manifests away and back",
  };
}
