import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, EnvVar, Service } from "../generated/types.ts";
import { assembleEnv, type EnvParts, type EnvValue } from "./env.ts";
import { serviceEnv } from "./service-env.ts";

const NOTHING: EnvParts = { services: new Map(), from: [], valueFrom: () => ({ kind: "absent" }) };

function entriesOf(env: readonly EnvVar[], parts: Partial<EnvParts> = {}): Record<string, string> {
  const container: Container = { name: "c", env };
  const found = assembleEnv(container, { ...NOTHING, ...parts });
  assert.equal(found.kind, "env");
  return Object.fromEntries(found.entries.map(({ name, value }) => [name, value]));
}

test("assembleEnv expands by what came before, by envFrom and by services", () => {
  const env = [
    { name: "LATE", value: "$(EARLY)" },
    { name: "EARLY", value: "1" },
    { name: "ALL", value: "$(EARLY) $(FROM) $(SVC) $$(EARLY) $(NONE) $(" },
  ];
  const parts = { services: new Map([["SVC", "s"]]), from: [["FROM", "f"]] as const };
  assert.deepEqual(entriesOf(env, parts), {
    FROM: "f",
    LATE: "$(EARLY)",
    EARLY: "1",
    ALL: "1 f s $(EARLY) $(NONE) $(",
    SVC: "s",
  });
});

test("assembleEnv lets env go before envFrom, and both before services", () => {
  const parts = {
    services: new Map([
      ["A", "service"],
      ["B", "service"],
      ["C", "service"],
    ]),
    from: [
      ["A", "from"],
      ["B", "first"],
      ["B", "second"],
    ] as const,
  };
  const entries = entriesOf([{ name: "A", value: "own" }], parts);
  assert.deepEqual(entries, { A: "own", B: "second", C: "service" });
});

test("assembleEnv leaves out what is absent and ends at the first fault", () => {
  const values: readonly EnvValue[] = [
    { kind: "absent" },
    { kind: "value", value: "$(X)" },
    { kind: "fault", message: 'configmap "x" not found' },
  ];
  const env = ["A", "B", "C"].map((name) => ({ name, valueFrom: {} }));
  const valueFrom = (index: number) => values[index] as EnvValue;
  assert.deepEqual(entriesOf(env.slice(0, 2), { valueFrom }), { B: "$(X)" });
  const found = assembleEnv({ name: "c", env }, { ...NOTHING, valueFrom });
  assert.deepEqual(found, values[2]);
});

const service = (namespace: string, name: string, spec: Service["spec"]): Service => ({
  metadata: { namespace, name },
  spec: spec as NonNullable<Service["spec"]>,
});
const KUBERNETES = service("default", "kubernetes", {
  clusterIP: "10.96.0.1",
  ports: [{ name: "https", port: 443, protocol: "TCP" }],
});
const DB = service("shop", "my-db", {
  clusterIP: "10.96.0.7",
  ports: [{ port: 5432 }, { name: "metrics-x", port: 9090, protocol: "UDP" }],
});
const OTHERS = [
  service("shop", "headless", { clusterIP: "None", ports: [{ port: 1 }] }),
  service("shop", "outside", { type: "ExternalName", ports: [{ port: 1 }] }),
  service("elsewhere", "far", { clusterIP: "10.96.0.9", ports: [{ port: 1 }] }),
];

test("serviceEnv writes Docker's links of the pod's namespace, and the API server's", () => {
  const variables = Object.fromEntries(serviceEnv([KUBERNETES, DB, ...OTHERS], "shop", true));
  assert.deepEqual(variables, {
    KUBERNETES_SERVICE_HOST: "10.96.0.1",
    KUBERNETES_SERVICE_PORT: "443",
    KUBERNETES_SERVICE_PORT_HTTPS: "443",
    KUBERNETES_PORT: "tcp://10.96.0.1:443",
    KUBERNETES_PORT_443_TCP: "tcp://10.96.0.1:443",
    KUBERNETES_PORT_443_TCP_PROTO: "tcp",
    KUBERNETES_PORT_443_TCP_PORT: "443",
    KUBERNETES_PORT_443_TCP_ADDR: "10.96.0.1",
    MY_DB_SERVICE_HOST: "10.96.0.7",
    MY_DB_SERVICE_PORT: "5432",
    MY_DB_SERVICE_PORT_METRICS_X: "9090",
    MY_DB_PORT: "tcp://10.96.0.7:5432",
    MY_DB_PORT_5432_TCP: "tcp://10.96.0.7:5432",
    MY_DB_PORT_5432_TCP_PROTO: "tcp",
    MY_DB_PORT_5432_TCP_PORT: "5432",
    MY_DB_PORT_5432_TCP_ADDR: "10.96.0.7",
    MY_DB_PORT_9090_UDP: "udp://10.96.0.7:9090",
    MY_DB_PORT_9090_UDP_PROTO: "udp",
    MY_DB_PORT_9090_UDP_PORT: "9090",
    MY_DB_PORT_9090_UDP_ADDR: "10.96.0.7",
  });
});

test("serviceEnv without links has variables of the API server only; IPv6 addresses stand in brackets", () => {
  const names = [...serviceEnv([KUBERNETES, DB], "shop", false).keys()];
  assert.ok(names.every((name) => name.startsWith("KUBERNETES_")) && names.length > 0);
  const six = service("shop", "six", { clusterIP: "fd00::1", ports: [{ port: 80 }] });
  assert.equal(serviceEnv([six], "shop", true).get("SIX_PORT"), "tcp://[fd00::1]:80");
});
