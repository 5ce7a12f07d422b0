import assert from "node:assert/strict";
import { test } from "node:test";
import { forbiddenSysctl } from "./sysctls.ts";

const ROWS: readonly (readonly [
  name: string,
  spec: object,
  allowed: readonly string[],
  expected: string | undefined,
])[] = [
  ["kernel.shm_rmid_forced", {}, [], undefined],
  ["net/ipv4/tcp_syncookies", {}, [], undefined],
  ["net/ipv4/conf/eno2.100/rp_filter", {}, ["net.ipv4.conf.eno2/100.rp_filter"], undefined],
  ["net.ipv4.conf.eno2/100.rp_filter", {}, ["net/ipv4/conf/eno2.100/*"], undefined],
  [
    "net/ipv4/conf/eno2.100/rp_filter",
    {},
    ["net.ipv4.conf.eno2.100.*"],
    `forbidden sysctl: "net.ipv4.conf.eno2/100.rp_filter" not allowlisted`,
  ],
  ["kernel.msgmax", {}, [], `forbidden sysctl: "kernel.msgmax" not allowlisted`],
  ["kernel.msgmax", {}, ["kernel.msg*"], undefined],
  ["net.core.somaxconn", {}, ["net.core.somaxconn"], undefined],
  [
    "net.ipv4.tcp_syncookies",
    { hostNetwork: true },
    [],
    `forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host net enabled`,
  ],
  [
    "kernel.shm_rmid_forced",
    { hostIPC: true },
    [],
    `forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host ipc enabled`,
  ],
];

for (const [name, spec, allowed, expected] of ROWS) {
  test(`forbiddenSysctl: ${name} ${JSON.stringify(spec)} ${allowed}`, () => {
    const pod = {
      spec: { containers: [], ...spec, securityContext: { sysctls: [{ name, value: "1" }] } },
    };
    assert.equal(forbiddenSysctl(pod, allowed), expected);
  });
}
