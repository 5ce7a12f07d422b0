// pure
/** Whether a control plane is healthy: facts in, verdicts with what to do about them out. */
import { parseYaml, type YamlValue } from "../../api/text/yaml.ts";
import { humanBytes } from "../../present/amounts.ts";
import { yamlAt } from "../control-plane/kubeadm-config.ts";
import type { Check } from "../up/checks.ts";

/** Where a component answers whether it is healthy, by its static pod's probe. */
export interface HealthAddress {
  readonly component: string;
  readonly url: string;
}

/** The address of the liveness probe in a manifest; undefined where it has none by HTTP. */
export function healthAddress(manifest: string): HealthAddress | undefined {
  const document = parseYaml(manifest)[0]?.value;
  const containers = yamlAt(document, ["spec", "containers"]);
  const container = Array.isArray(containers) ? containers[0] : undefined;
  const probe = yamlAt(container, ["livenessProbe", "httpGet"]);
  const port = portOf(yamlAt(probe, ["port"]), yamlAt(container, ["ports"]));
  const component = yamlAt(document, ["metadata", "name"]);
  if (typeof component !== "string" || port === undefined) return undefined;
  const scheme = String(yamlAt(probe, ["scheme"]) ?? "HTTP").toLowerCase();
  const host = String(yamlAt(probe, ["host"]) ?? "127.0.0.1");
  const path = String(yamlAt(probe, ["path"]) ?? "/");
  return {
    component,
    url: `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}${path}`,
  };
}

function portOf(port: YamlValue | undefined, ports: YamlValue | undefined): number | undefined {
  if (typeof port === "number") return port;
  const named = (Array.isArray(ports) ? ports : []).find((each) => yamlAt(each, ["name"]) === port);
  const found = yamlAt(named, ["containerPort"]);
  return typeof found === "number" ? found : undefined;
}

/** What a component has answered; undefined: it is healthy. */
interface ComponentHealth {
  readonly component: string;
  readonly problem: string | undefined;
  /** The last line of its log. */
  readonly wroteLast: string | undefined;
}

/** The verdict on a component. */
export function judgeComponent({ component, problem, wroteLast }: ComponentHealth): Check {
  if (problem === undefined) return { name: component, level: "ok", found: "healthy", fix: "" };
  const why = `nodelet why kube-system/${component}`;
  return {
    name: component,
    level: "fail",
    found: problem,
    fix: wroteLast === undefined ? why : `it wrote last: ${wroteLast}; ${why}`,
  };
}

/** Size and alarms of the machine's etcd. */
interface EtcdHealth {
  readonly bytes: number;
  readonly quotaBytes: number;
  /** Names like `NOSPACE`. */
  readonly alarms: readonly string[];
}

/** etcd's default for --quota-backend-bytes. */
export const DEFAULT_QUOTA_BYTES = 2 * 1024 ** 3;
/** Share of its quota from which on etcd is near the end. */
const NEARLY_FULL = 0.8;

/** The verdict on etcd's data. */
export function judgeEtcd({ bytes, quotaBytes, alarms }: EtcdHealth): Check {
  const name = "etcd's data";
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

/** A certificate of kubeadm's list. */
export interface KubeadmCertificate {
  readonly name: string;
  readonly expirationDate: string;
  readonly missing?: boolean;
}

const DAY_MS = 24 * 3_600_000;
const SOON_DAYS = 30;

/** The verdict on all certificates: the one that ends first counts. */
export function judgeCertificates(all: readonly KubeadmCertificate[], nowMs: number): Check {
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
