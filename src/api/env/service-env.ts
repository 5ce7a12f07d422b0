// pure
import type { Service } from "../generated/types.ts";

const MASTER_NAMESPACE = "default";
const MASTER_SERVICES: ReadonlySet<string> = new Set(["kubernetes"]);

/** Addresses a service that has an address of its own (IsServiceIPSet). */
const hasAddress = ({ spec }: Service): boolean => {
  const ip = spec?.clusterIP ?? "";
  return ip !== "" && ip !== "None" && spec?.type !== "ExternalName";
};

/**
 * Variables of the services a pod in `namespace` is given: those of its namespace when it enables links,
 * and the API server's own always, unless its namespace has one of that name (kubelet
 * getServiceEnvVarMap, envvars FromServices).
 */
export function serviceEnv(
  services: readonly Service[],
  namespace: string,
  enableLinks: boolean,
): ReadonlyMap<string, string> {
  const chosen = new Map<string, Service>();
  for (const service of services) {
    if (!hasAddress(service)) continue;
    const { name = "", namespace: of = "" } = service.metadata ?? {};
    const isMaster = of === MASTER_NAMESPACE && MASTER_SERVICES.has(name);
    if (isMaster && !chosen.has(name)) chosen.set(name, service);
    if (of === namespace && enableLinks) chosen.set(name, service);
  }
  const sorted = [...chosen].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.flatMap(([, service]) => variablesOf(service)));
}

const variableName = (text: string): string => text.replaceAll("-", "_").toUpperCase();

/** Docker's links and the plain pair of host and port. */
function variablesOf(service: Service): readonly (readonly [string, string])[] {
  const { clusterIP = "", ports = [] } = service.spec ?? {};
  const prefix = variableName(service.metadata?.name ?? "");
  const first = ports[0];
  if (!first) return [];
  const address = (port: number) => joinHostPort(clusterIP, port);
  const entries: [string, string][] = [
    [`${prefix}_SERVICE_HOST`, clusterIP],
    [`${prefix}_SERVICE_PORT`, `${first.port}`],
  ];
  for (const { name = "", port } of ports)
    if (name !== "") entries.push([`${prefix}_SERVICE_PORT_${variableName(name)}`, `${port}`]);
  for (const [index, { port, protocol = "TCP" }] of ports.entries()) {
    const lower = protocol.toLowerCase();
    const url = `${lower}://${address(port)}`;
    const own = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    if (index === 0) entries.push([`${prefix}_PORT`, url]);
    entries.push(
      [own, url],
      [`${own}_PROTO`, lower],
      [`${own}_PORT`, `${port}`],
      [`${own}_ADDR`, clusterIP],
    );
  }
  return entries;
}

function joinHostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
