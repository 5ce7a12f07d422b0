import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../test/support/pods.ts";
import { sandboxConfig } from "./sandbox-config.ts";

const PARTS = {
  attempt: 0,
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
