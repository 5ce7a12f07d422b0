// pure
/** Whether a control plane is healthy: facts in, verdicts with what to do about them out. */
import type { YamlValue } from "../../api/text/yaml.ts";
import { yamlAt } from "../control-plane/kubeadm-config.ts";
import { readManifest } from "../control-plane/manifest.ts";
import type { Check } from "../up/checks.ts";

/** Where a component answers whether it is healthy, by its static pod's probe. */
export interface HealthAddress {
  readonly component: string;
  readonly url: string;
}

/** The address of the liveness probe in a manifest; undefined where it has none by HTTP. */
export function healthAddress(manifest: string): HealthAddress | undefined {
  const read = readManifest(manifest);
  if ("problem" in read) return undefined;
  const { document } = read;
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

/** A manifest that cannot be read: the agent keeps running what it had before. */
export function judgeManifest(path: string, text: string): Check | undefined {
  const read = readManifest(text);
  if (!("problem" in read)) return undefined;
  const name = path.slice(path.lastIndexOf("/") + 1).replace(/\.yaml$/, "");
  return {
    name,
    level: "fail",
    found: `its manifest cannot be read: ${read.problem}`,
    fix: `correct ${path}, or have kubeadm write it again: kubeadm init phase ${name === "etcd" ? "etcd local" : `control-plane ${name.replace(/^kube-/, "")}`}`,
  };
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
