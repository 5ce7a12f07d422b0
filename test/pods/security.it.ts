// Security contexts, seen from inside of containers and by the kernel.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, PodSpec } from "../../src/api/generated/types.ts";
import { TEST_IMAGE, testImage } from "../box/images.ts";
import { manifest } from "../support/agent.ts";
import { staying, type VolumeNode, withNode } from "../volumes/world.ts";

const secured = (name: string, securityContext: Container["securityContext"] & object): Container =>
  staying(name, { securityContext });

/** A line of /proc/self/status of a container. */
async function statusLine({ inside }: VolumeNode, key: string, container: string): Promise<string> {
  const line = await inside(`grep '^${key}:' /proc/self/status`, container);
  return line.split(":")[1]?.trim() ?? "";
}

/** Waits until a pod that is applied is refused or waits, and gives what is reported about it. */
async function saidOf(node: VolumeNode, spec: Partial<PodSpec>): Promise<string> {
  const { agent } = node;
  const others = agent.statuses().size;
  agent.apply("refused.yaml", manifest("refused", spec));
  let reported = "";
  await agent.until("it is refused", () => {
    for (const status of agent.statuses().values()) {
      const waiting = status.containerStatuses?.[0]?.state?.waiting;
      if (status.phase === "Failed") reported = `${status.reason}: ${status.message}`;
      else if (/Error/.test(waiting?.reason ?? ""))
        reported = `${waiting?.reason}: ${waiting?.message}`;
    }
    return reported !== "";
  });
  agent.remove("refused.yaml");
  await agent.until("it is gone", () => agent.statuses().size === others);
  return reported;
}

test("users, groups, capabilities, privileges, read-only root, hidden and locked files of the kernel", () =>
  withNode(async (node) => {
    const { run, inside } = node;
    await run({
      securityContext: { runAsUser: 1234, runAsGroup: 1001, supplementalGroups: [2000, 2001] },
      containers: [
        staying("pod"),
        secured("own", { runAsUser: 7, runAsGroup: 8, runAsNonRoot: true }),
        secured("bare", {
          runAsUser: 0,
          capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] },
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
        }),
        secured("mighty", { privileged: true, runAsUser: 0 }),
      ],
    });
    assert.equal(await inside("id -u; id -g; id -G", "pod"), "1234\n1001\n1001 2000 2001\n");
    assert.equal(await inside("id -u; id -g", "own"), "7\n8\n");
    assert.equal(await statusLine(node, "CapEff", "bare"), "0000000000000400");
    assert.equal(await statusLine(node, "NoNewPrivs", "bare"), "1");
    assert.equal(await statusLine(node, "NoNewPrivs", "own"), "0");
    assert.match(await inside("touch /x 2>&1 || true", "bare"), /Read-only file system/);
    assert.match(
      await inside("{ echo 1 > /proc/sys/kernel/domainname; } 2>&1 || true", "bare"),
      /Read-only file system|can't create/,
    );
    const masks = "grep -cE ' /proc/(acpi|keys|timer_list) ' /proc/self/mountinfo || true";
    // Not every kernel has all of them.
    const there = "ls -d /proc/acpi /proc/keys /proc/timer_list 2>/dev/null | wc -l";
    const hidden = (await inside(there, "mighty")).trim();
    assert.ok(Number(hidden) >= 2, hidden);
    assert.equal((await inside(masks, "bare")).trim(), hidden);
    assert.equal((await inside(masks, "mighty")).trim(), "0");
    const locked = await inside("grep ' /proc/sys ' /proc/self/mountinfo", "bare");
    assert.match(locked, / ro,/);
    const many = BigInt(`0x${await statusLine(node, "CapEff", "mighty")}`);
    assert.ok(many > 0xffffffffn, many.toString(16));
  }));

test("seccomp: none unless asked for, the runtime's, one from a file, and the default by configuration", async () => {
  const deny = {
    defaultAction: "SCMP_ACT_ALLOW",
    syscalls: [{ names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO" }],
  };
  await withNode(async (node) => {
    const { box, run, inside } = node;
    await box.run(["mkdir", "-p", "/var/lib/kubelet/seccomp/profiles"]);
    box.write("/var/lib/kubelet/seccomp/profiles/deny.json", JSON.stringify(deny));
    const seccompProfile = { type: "Localhost", localhostProfile: "profiles/deny.json" };
    await run({
      containers: [
        staying("none"),
        secured("default", { seccompProfile: { type: "RuntimeDefault" } }),
        secured("local", { seccompProfile }),
      ],
    });
    assert.equal(await statusLine(node, "Seccomp", "none"), "0");
    assert.equal(await statusLine(node, "Seccomp", "default"), "2");
    assert.equal(await inside("mkdir /made && echo yes", "default"), "yes\n");
    assert.match(await inside("mkdir /made 2>&1 || true", "local"), /Operation not permitted/);
  });
  await withNode(
    async (node) => {
      await node.run({
        containers: [staying("main"), secured("free", { seccompProfile: { type: "Unconfined" } })],
      });
      assert.equal(await statusLine(node, "Seccomp", "main"), "2");
      assert.equal(await statusLine(node, "Seccomp", "free"), "0");
    },
    { agent: { config: "seccompDefault: true" } },
  );
});

test("kernel settings: safe ones, allowed ones, and others refused with the Go kubelet's text", () =>
  withNode(
    async (node) => {
      const sysctls = [
        { name: "net.ipv4.ip_local_port_range", value: "20000 30000" },
        { name: "net.ipv4.tcp_slow_start_after_idle", value: "0" },
        { name: "net.ipv4.tcp_notsent_lowat", value: "131072" },
        { name: "net.core.somaxconn", value: "77" },
      ];
      await node.run({ securityContext: { sysctls } });
      assert.match(
        await node.inside(
          "cd /proc/sys/net && cat ipv4/ip_local_port_range core/somaxconn ipv4/tcp_slow_start_after_idle ipv4/tcp_notsent_lowat",
        ),
        /20000\s30000\n77\n0\n131072\n/,
      );
      const kernel = [{ name: "kernel.msgmax", value: "65536" }];
      assert.equal(
        await saidOf(node, { securityContext: { sysctls: kernel } }),
        'SysctlForbidden: Pod was rejected: forbidden sysctl: "kernel.msgmax" not allowlisted',
      );
    },
    { agent: { config: 'allowedUnsafeSysctls: ["net.core.*"]' } },
  ));

test("the node's namespaces, and processes seen by all containers of a pod", () =>
  withNode(async ({ agent, box, inside, run }) => {
    const of = (name: string) => `readlink /proc/self/ns/${name}`;
    const ofNode = async (name: string) =>
      (await box.run(["readlink", `/proc/self/ns/${name}`])).trim();
    await run({ hostPID: true, hostIPC: true, hostNetwork: true });
    for (const name of ["pid", "ipc", "net"])
      assert.equal((await inside(of(name))).trim(), await ofNode(name), name);
    agent.remove("pod.yaml");
    await agent.until("it is gone", () => agent.statuses().size === 0);
    await run({ shareProcessNamespace: true, containers: [staying("a"), staying("b")] });
    assert.equal(await inside(of("pid"), "a"), await inside(of("pid"), "b"));
    assert.match(await inside("cat /proc/1/cmdline", "a"), /pause/);
    assert.notEqual((await inside(of("pid"), "a")).trim(), await ofNode("pid"));
    agent.remove("pod.yaml");
    await agent.until("it is gone", () => agent.statuses().size === 0);
    await run({ containers: [staying("a"), staying("b")] });
    assert.notEqual(await inside(of("pid"), "a"), await inside(of("pid"), "b"));
    assert.equal(await inside(of("ipc"), "a"), await inside(of("ipc"), "b"));
  }));

const GROUPED = "nodelet.test/grouped:1";
const NAMED = "nodelet.test/named:1";
const grouped = testImage({
  names: [GROUPED],
  user: "1000",
  files: {
    "etc/passwd": { text: "root:x:0:0::/:/bin/sh\nalice:x:1000:1000::/:/bin/sh\n" },
    "etc/group": { text: "root:x:0:\nalice:x:1000:\nextra:x:50000:alice\n" },
  },
});

test("groups of the image are merged, or omitted where the pod and the runtime require it", () =>
  withNode(
    async ({ agent, inside, run }) => {
      const main = { ...staying(), image: GROUPED };
      const securityContext = { runAsUser: 1000, runAsGroup: 3000, supplementalGroups: [4000] };
      await run({ securityContext, containers: [main] });
      assert.equal((await inside("id -G")).trim(), "3000 4000 50000");
      agent.remove("pod.yaml");
      await agent.until("it is gone", () => agent.statuses().size === 0);
      const strict = { ...securityContext, supplementalGroupsPolicy: "Strict" };
      await run({ securityContext: strict, containers: [main] });
      assert.equal((await inside("id -G")).trim(), "3000 4000");
    },
    { box: { containerd: "2.1", images: [grouped] } },
  ));

test("what neither runtime nor kernel can enforce is refused, and so are users that cannot be distinguished from root", () =>
  withNode(
    async (node) => {
      assert.equal(
        await saidOf(node, { securityContext: { supplementalGroupsPolicy: "Strict" } }),
        "SupplementalGroupsPolicyNotSupported: Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node",
      );
      const enabled = await node.box.exec(["cat", "/sys/module/apparmor/parameters/enabled"]);
      if (!enabled.stdout.startsWith("Y"))
        assert.equal(
          await saidOf(node, { securityContext: { appArmorProfile: { type: "RuntimeDefault" } } }),
          "AppArmor: Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host",
        );
      const securityContext = { runAsNonRoot: true };
      const nonRoot = (image: string, more = {}) =>
        saidOf(node, {
          securityContext: { ...securityContext, ...more },
          containers: [{ ...staying(), image }],
        });
      assert.match(
        await nonRoot(TEST_IMAGE),
        /^CreateContainerConfigError: container has runAsNonRoot and image will run as root \(pod: /,
      );
      assert.match(
        await nonRoot(NAMED),
        /container has runAsNonRoot and image has non-numeric user \(nobody\), cannot verify user is non-root/,
      );
      assert.match(
        await nonRoot(GROUPED, { runAsUser: 0 }),
        /container's runAsUser breaks non-root policy/,
      );
      await node.run({ securityContext, containers: [{ ...staying(), image: GROUPED }] });
      assert.equal((await node.inside("id -u")).trim(), "1000");
    },
    // Newer ones can enforce a policy for groups.
    {
      box: {
        containerd: "1.7",
        images: [grouped, testImage({ names: [NAMED], user: "nobody" })],
      },
    },
  ));
