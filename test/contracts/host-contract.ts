import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { cgroupContract } from "./cgroup-contract.ts";
import { filesContract } from "./files-contract.ts";
import type { Current, HostUnderTest } from "./host-under-test.ts";
import { volumeFilesContract } from "./volume-files-contract.ts";

/** What every `Host` must do. `make` is called once for each test. */
export function hostContract(name: string, make: () => Promise<HostUnderTest>): void {
  let at: HostUnderTest;
  const current = () => at;
  describe(`${name} keeps the contract of a host`, () => {
    beforeEach(async () => {
      at = await make();
    });
    afterEach(() => at.dispose());
    filesContract(current);
    volumeFilesContract(current);
    cgroupContract(current);
    factsAndDisk(current);
  });
}

function factsAndDisk(at: Current) {
  test("facts say what a node must know", async () => {
    const facts = await at().host.facts();
    assert.ok(facts.cpuCount >= 1 && facts.memoryBytes > 0 && facts.pidMax > 0);
    assert.ok(facts.kernelVersion && facts.osImage && facts.hostname && facts.bootId);
    assert.match(facts.architecture, /^(amd64|arm64)$/);
  });

  test("addresses leave loopback out, and lookup knows a name of every machine", async () => {
    const { host } = at();
    const ips = host.addresses();
    assert.ok(!ips.includes("127.0.0.1") && !ips.includes("::1"), ips.join());
    const local = await host.lookup("localhost");
    assert.ok(local.includes("127.0.0.1") || local.includes("::1"), local.join());
  });

  test("diskUsage measures the file system of a path", async () => {
    const { host, folder } = at();
    const usage = await host.diskUsage(folder);
    assert.ok(usage && usage.capacityBytes > 0 && usage.availableBytes <= usage.capacityBytes);
    assert.ok(usage.inodesFree <= usage.inodes);
    assert.equal((await host.diskUsage(`${folder}/.`))?.device, usage.device);
    assert.equal(await host.diskUsage(`${folder}/no`), undefined);
  });
}
