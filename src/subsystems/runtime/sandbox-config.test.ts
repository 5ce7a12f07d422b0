import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../test/support/pods.ts";
import { sandboxConfig } from "./sandbox-config.ts";

const PARTS = {
  attempt: 0,
  defaultSysctls: {},
  roots: { root: "/root", logs: "/logs" },
  cgroupParent: "/kubepods",
  dns: { servers: [], searches: [], options: [] },
  hostname: "web",
  userNamespace: undefined,
  resources: {},
  overhead: {},
};

type Settings = readonly (readonly [string, string])[];

/** Sysctls of the pod, and what the runtime is to set. */
const ROWS: readonly (readonly [Settings, Settings])[] = [
  [[["net.ipv4.tcp_syncookies", "1"]], [["net.ipv4.tcp_syncookies", "1"]]],
  [[["net/ipv4/tcp_syncookies", "1"]], [["net.ipv4.tcp_syncookies", "1"]]],
  [[["net/ipv4/conf/eno2.100/rp_filter", "1"]], [["net.ipv4.conf.eno2/100.rp_filter", "1"]]],
  [[["net.ipv4.conf.eno2/100.rp_filter", "1"]], [["net.ipv4.conf.eno2/100.rp_filter", "1"]]],
  [
    [
      ["net.ipv4.tcp_syncookies", "0"],
      ["net/ipv4/tcp_syncookies", "1"],
    ],
    [["net.ipv4.tcp_syncookies", "1"]],
  ],
  [
    [
      ["net/ipv4/tcp_syncookies", "1"],
      ["kernel.shm_rmid_forced", "1"],
      ["net.ipv4.tcp_syncookies", "0"],
    ],
    [
      ["net.ipv4.tcp_syncookies", "0"],
      ["kernel.shm_rmid_forced", "1"],
    ],
  ],
];

for (const [written, expected] of ROWS)
  test(`sandboxConfig: sysctls ${written.flat().join(" ")}`, () => {
    const sysctls = written.map(([name, value]) => ({ name, value }));
    const config = sandboxConfig(aPod({ securityContext: { sysctls } }), PARTS);
    assert.deepEqual(Object.entries(config.linux?.sysctls ?? {}), expected);
  });

const DEFAULTS = {
  "kernel.shm_rmid_forced": "1",
  "fs/mqueue/queues_max": "64",
  "net.ipv4.ip_forward": "1",
  "user.max_user_namespaces": "7",
  "kernel.domainname": "example.com",
  "kernel.msgfoo": "1",
};
const IPC = [
  ["kernel.shm_rmid_forced", "1"],
  ["fs.mqueue.queues_max", "64"],
];
const FORWARD = ["net.ipv4.ip_forward", "1"];
const DOMAIN = ["kernel.domainname", "example.com"];
const USER = ["user.max_user_namespaces", "7"];

/** The spec of a pod, and which of the defaults it gets. */
const WITH_DEFAULTS: readonly (readonly [
  spec: object,
  expected: readonly (readonly string[])[],
])[] = [
  [{}, [...IPC, FORWARD, DOMAIN]],
  [{ hostUsers: true }, [...IPC, FORWARD, DOMAIN]],
  [{ hostUsers: false }, [...IPC, FORWARD, USER, DOMAIN]],
  [{ hostNetwork: true }, IPC],
  [{ hostNetwork: true, hostUsers: false }, [...IPC, USER]],
  [{ hostIPC: true }, [FORWARD, DOMAIN]],
  [
    { securityContext: { sysctls: [{ name: "net/ipv4/ip_forward", value: "0" }] } },
    [...IPC, ["net.ipv4.ip_forward", "0"], DOMAIN],
  ],
];

for (const [spec, expected] of WITH_DEFAULTS)
  test(`sandboxConfig: defaultPodSysctls of a pod with ${JSON.stringify(spec)}`, () => {
    const config = sandboxConfig(aPod(spec), { ...PARTS, defaultSysctls: DEFAULTS });
    assert.deepEqual(Object.entries(config.linux?.sysctls ?? {}), expected);
  });
