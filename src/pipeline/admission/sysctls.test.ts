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
    `forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled`,
  ],
  [
    "kernel.shm_rmid_forced",
    { hostIPC: true },
    [],
    `forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host IPC enabled`,
  ],
  [
    "user.max_user_namespaces",
    { hostUsers: false },
    [],
    `forbidden sysctl: "user.max_user_namespaces" not allowlisted`,
  ],
  ["user.max_user_namespaces", { hostUsers: false }, ["user.*"], undefined],
  ...[{}, { hostUsers: true }].map(
    (spec) =>
      [
        "user.max_user_namespaces",
        spec,
        ["user.*"],
        `forbidden sysctl: "user.max_user_namespaces" not allowed with host User enabled`,
      ] as const,
  ),
  ["kernel.domainname", { hostNetwork: true }, ["kernel.domainname"], undefined],
];

for (const [name, spec, allowed, expected] of ROWS) {
  test(`forbiddenSysctl: ${name} ${JSON.stringify(spec)} ${allowed}`, () => {
    const pod = {
      spec: { containers: [], ...spec, securityContext: { sysctls: [{ name, value: "1" }] } },
    };
    assert.equal(forbiddenSysctl(pod, { allowedUnsafeSysctls: allowed }), expected);
  });
}

/** Setting, the last kernel without it, and the first with it. */
const BY_KERNEL: readonly (readonly [string, string, string])[] = [
  ["net.ipv4.ip_local_reserved_ports", "3.15.9", "3.16.0"],
  ["net.ipv4.tcp_keepalive_time", "4.4.302", "4.5.0"],
  ["net.ipv4.tcp_fin_timeout", "4.5.7", "4.6.0"],
  ["net.ipv4.tcp_notsent_lowat", "4.5.7", "4.6.0-1-amd64"],
  ["net.ipv4.tcp_rmem", "4.14.336", "4.15.0"],
  ["net/ipv4/tcp_slow_start_after_idle", "4.14.336", "5.10.0-30-amd64"],
];
for (const [name, older, newer] of BY_KERNEL)
  test(`forbiddenSysctl: ${name} is safe with ${newer} and not with ${older}`, () => {
    const pod = {
      spec: { containers: [], securityContext: { sysctls: [{ name, value: "1" }] } },
    };
    const judged = (kernelVersion?: string, allowedUnsafeSysctls: readonly string[] = []) =>
      forbiddenSysctl(pod, {
        allowedUnsafeSysctls,
        ...(kernelVersion === undefined ? {} : { kernelVersion }),
      });
    assert.equal(judged(newer), undefined);
    assert.equal(judged(), undefined);
    const dotted = name.replaceAll("/", ".");
    assert.equal(judged(older), `forbidden sysctl: "${dotted}" not allowlisted`);
    assert.equal(judged(older, [name]), undefined);
  });
