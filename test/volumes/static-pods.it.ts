import assert from "node:assert/strict";
import { test } from "node:test";
import { podTraces } from "../support/agent.ts";
import { staying, withNode } from "./world.ts";

test("emptyDir in memory: a tmpfs of the size asked for, shared, gone with the pod", () =>
  withNode(async ({ box, agent, inside, run }) => {
    const before = await podTraces(box);
    const volumeMounts = [
      { name: "disk", mountPath: "/disk" },
      { name: "memory", mountPath: "/memory" },
      { name: "limited", mountPath: "/limited" },
    ];
    const resources = { limits: { memory: "64Mi" } };
    await run({
      volumes: [
        { name: "disk", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory" } },
        { name: "limited", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
      ],
      containers: [
        staying("main", { volumeMounts, resources }),
        staying("other", { volumeMounts, resources }),
      ],
    });
    const mounts = await inside("cat /proc/self/mounts");
    assert.match(mounts, /^tmpfs \/memory tmpfs rw,.*size=131072k/m);
    assert.match(mounts, /^tmpfs \/limited tmpfs rw,.*size=1024k/m);
    assert.match(mounts, /noswap/);
    assert.match(await inside("stat -c %A%F /disk"), /^drwxrwxrwxdirectory/);
    assert.match(await inside("stat -c %A /memory"), /^drwxrwxrwt/);
    await inside("echo hello > /memory/x; echo hello > /disk/x");
    assert.equal(await inside("cat /memory/x /disk/x", "other"), "hello\nhello\n");
    const full = await inside("dd if=/dev/zero of=/limited/x bs=64k count=32 2>&1 || true");
    assert.match(full, /No space left/);
    agent.remove("pod.yaml");
    await agent.until("nothing is left", async () => {
      return JSON.stringify(await podTraces(box)) === JSON.stringify(before);
    });
  }));

test("emptyDir with a group: given to it once, sub paths too; a new agent leaves what containers made of it", () =>
  withNode(async ({ agent, inside, run }) => {
    await run({
      securityContext: { fsGroup: 4242 },
      volumes: [
        { name: "disk", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory" } },
      ],
      containers: [
        staying("main", {
          volumeMounts: [
            { name: "disk", mountPath: "/disk" },
            { name: "memory", mountPath: "/memory" },
            { name: "disk", mountPath: "/part", subPath: "some/where" },
          ],
        }),
      ],
    });
    const shown = (paths: string) => inside(`stat -c '%a %g %n' ${paths}`);
    assert.equal(
      await shown("/disk /memory /part"),
      "2777 4242 /disk\n3777 4242 /memory\n2777 4242 /part\n",
    );
    await inside(
      "touch /disk/f /part/f; mkdir /disk/data; chmod 600 /disk/f; chmod 700 /disk/data",
    );
    await inside(
      "touch /memory/f; chgrp 0 /memory/f /disk/data; chmod 600 /memory/f; chmod 755 /disk",
    );
    assert.equal((await shown("/part/f")).split(" ")[1], "4242");
    const paths = "/disk /disk/f /disk/data /memory/f";
    const before = await shown(paths);
    const restarts = agent.status()?.containerStatuses?.[0]?.restartCount;
    for (const end of ["kill", "stop"] as const) {
      await agent[end]();
      await agent.start();
      await agent.untilReady();
      await inside("echo alive");
    }
    assert.equal(await shown(paths), before);
    assert.equal(agent.status()?.containerStatuses?.[0]?.restartCount, restarts);
  }));

test("downward API: files and variables of fields and resources, projected too", () =>
  withNode(async ({ inside, agent }) => {
    const items = [
      { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
      { path: "note", fieldRef: { fieldPath: "metadata.annotations['note']" } },
      { path: "deep/er/name", fieldRef: { fieldPath: "metadata.name" }, mode: 0o400 },
      {
        path: "cpu",
        resourceFieldRef: { containerName: "main", resource: "limits.cpu", divisor: "1m" },
      },
    ];
    const env = [
      { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      { name: "HOST_IP", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } },
      { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
      {
        name: "MEM",
        valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1Mi" } },
      },
      { name: "CPUS", valueFrom: { resourceFieldRef: { resource: "requests.cpu" } } },
      { name: "A", value: "$(POD_IP)/$(MISSING)/$$(POD_IP)" },
      { name: "LABEL", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
    ];
    const main = staying("main", {
      env,
      resources: { limits: { cpu: "250m", memory: "100Mi" } },
      volumeMounts: [
        { name: "down", mountPath: "/down" },
        { name: "projected", mountPath: "/projected" },
      ],
    });
    agent.apply("pod.yaml", {
      metadata: {
        name: "pod",
        labels: { app: "web", tier: "front" },
        annotations: { note: 'say "hi"' },
      },
      spec: {
        terminationGracePeriodSeconds: 1,
        volumes: [
          { name: "down", downwardAPI: { items, defaultMode: 0o640 } },
          { name: "projected", projected: { sources: [{ downwardAPI: { items } }] } },
        ],
        containers: [main],
      },
    });
    await agent.untilReady();
    const read = await inside(
      "cd /down; cat labels; echo; cat deep/er/name; echo; cat cpu; echo; stat -L -c %a labels deep/er/name",
    );
    assert.match(read, /^app="web"\ntier="front"\n/);
    assert.ok(read.includes("\n250\n640\n400\n"), read);
    assert.match(
      await inside("readlink /down/..data; readlink /down/labels"),
      /^\.\.2.*\n\.\.data\/labels\n$/,
    );
    assert.equal(await inside("cat /projected/cpu /projected/note"), '250say "hi"');
    assert.match(await inside("grep ' /down ' /proc/self/mounts"), /^tmpfs \/down tmpfs ro,/);
    const status = agent.status();
    assert.ok(status?.podIP && status.hostIP);
    const environment = await inside("env");
    for (const line of [
      `POD_IP=${status.podIP}`,
      `HOST_IP=${status.hostIP}`,
      "MEM=100",
      "CPUS=1",
      `A=${status.podIP}/$(MISSING)/$(POD_IP)`,
      "LABEL=web",
    ])
      assert.ok(environment.split("\n").includes(line), `${line} is not in\n${environment}`);
  }));

test("/etc/hosts, host name and resolver of a pod", () =>
  withNode(
    async ({ inside, run, agent }) => {
      await run({
        hostname: "db-0",
        subdomain: "db",
        setHostnameAsFQDN: true,
        hostAliases: [{ ip: "192.0.2.7", hostnames: ["one.example", "two"] }],
        dnsPolicy: "None",
        dnsConfig: {
          nameservers: ["192.0.2.53"],
          searches: ["a.example", "b.example"],
          options: [{ name: "ndots", value: "2" }, { name: "edns0" }],
        },
        containers: [staying()],
      });
      const ip = agent.status()?.podIP;
      const fqdn = "db-0.db.default.svc.cluster.local";
      assert.equal((await inside("hostname")).trim(), fqdn);
      assert.equal(
        await inside("cat /etc/hosts"),
        `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
${ip}\t${fqdn}\tdb-0

# Entries added by HostAliases.
192.0.2.7\tone.example\ttwo
`,
      );
      assert.equal(
        await inside("cat /etc/resolv.conf"),
        "search a.example b.example\nnameserver 192.0.2.53\noptions ndots:2 edns0\n",
      );
    },
    { agent: { config: "clusterDomain: cluster.local" } },
  ));

test("the node's resolver as it is when a pod starts; a name that is the pod's own", () =>
  withNode(async ({ box, agent, inside, run }) => {
    const start = async (text: string) => {
      box.write("/etc/resolv.conf", text);
      await run({ dnsPolicy: "Default", hostnameOverride: "db.internal", containers: [staying()] });
      const seen = await inside("cat /etc/resolv.conf");
      assert.equal(
        await inside("hostname; tail -1 /etc/hosts | cut -f2"),
        "db.internal\ndb.internal\n",
      );
      agent.remove("pod.yaml");
      await agent.until("it is gone", () => agent.statuses().size === 0);
      return seen;
    };
    assert.equal(await start("nameserver 192.0.2.1\n"), "nameserver 192.0.2.1\n");
    const later =
      "search a.example. b.example\nnameserver 192.0.2.2\noptions edns0 ndots:3 ndots:2\n";
    assert.equal(
      await start(later),
      "search a.example b.example\nnameserver 192.0.2.2\noptions edns0 ndots:2\n",
    );
    assert.equal(await start("nameserver 192.0.2.3\nsearch .\n"), "nameserver 192.0.2.3\n");
  }));

test("/etc/hosts on the node's network is the node's with the aliases", () =>
  withNode(async ({ box, inside, run }) => {
    await run({
      hostNetwork: true,
      hostAliases: [{ ip: "192.0.2.7", hostnames: ["one.example"] }],
      containers: [staying()],
    });
    const ofNode = await box.run(["cat", "/etc/hosts"]);
    assert.equal(
      await inside("cat /etc/hosts"),
      `# Kubernetes-managed hosts file (host network).\n${ofNode}\n# Entries added by HostAliases.\n192.0.2.7\tone.example\n`,
    );
  }));

test("a container that mounts its own /etc/hosts keeps it", () =>
  withNode(async ({ box, inside, run }) => {
    await box.run(["sh", "-c", "echo mine > /var/lib/own-hosts"]);
    await run({
      volumes: [{ name: "own", hostPath: { path: "/var/lib/own-hosts", type: "File" } }],
      containers: [staying("main", { volumeMounts: [{ name: "own", mountPath: "/etc/hosts" }] })],
    });
    assert.equal(await inside("cat /etc/hosts"), "mine\n");
  }));

test("both families: addresses in /etc/hosts and in variables", () =>
  withNode(
    async ({ agent, inside, run }) => {
      const env = [{ name: "IPS", valueFrom: { fieldRef: { fieldPath: "status.podIPs" } } }];
      await run({ containers: [staying("main", { env })] });
      const ips = (agent.status()?.podIPs ?? []).map(({ ip }) => ip ?? "");
      assert.equal(ips.length, 2, ips.join());
      assert.ok((await inside("env")).split("\n").includes(`IPS=${ips.join(",")}`));
      const hosts = await inside("cat /etc/hosts");
      for (const ip of ips) assert.ok(hosts.includes(`\n${ip}\tpod-`), hosts);
    },
    { box: { ipv6: true } },
  ));
