import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { countListed, osImage, readHostFacts } from "./facts.ts";

function machine(files: Readonly<Record<string, string>>): { root: string; remove: () => void } {
  const root = mkdtempSync(join(tmpdir(), "facts-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(`${root}${path}`), { recursive: true });
    writeFileSync(`${root}${path}`, text);
  }
  return { root, remove: () => rmSync(root, { recursive: true }) };
}

test("readHostFacts takes each fact from its file", () => {
  const { root, remove } = machine({
    "/proc/sys/kernel/hostname": "node-1\n",
    "/sys/devices/system/cpu/online": "0-2,8\n",
    "/proc/meminfo": "MemTotal:       8388608 kB\nMemFree: 1 kB\nSwapTotal:  2048 kB\n",
    "/proc/sys/kernel/osrelease": "6.1.0-30-amd64\n",
    "/etc/os-release": 'NAME=x\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "/proc/sys/kernel/random/boot_id": "boot\n",
    "/etc/machine-id": "machine\n",
    "/sys/class/dmi/id/product_uuid": "UUID\n",
    "/proc/sys/kernel/pid_max": "4194304\n",
    "/proc/sys/kernel/threads-max": "192731\n",
    "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "1\n",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "16\n",
    "/sys/devices/system/cpu/cpu10/thermal_throttle/core_throttle_count": "0\n",
    "/sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count": "0\n",
    "/sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
    "/sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
    "/sys/devices/system/cpu/cpu1/topology/physical_package_id": "0\n",
    "/sys/devices/system/cpu/cpu1/topology/core_id": "0\n",
    "/sys/devices/system/cpu/cpu2/topology/physical_package_id": "1\n",
    "/sys/devices/system/cpu/cpu2/topology/core_id": "0\n",
    "/sys/devices/system/cpu/cpu8/topology/physical_package_id": "1\n",
    "/sys/devices/system/cpu/cpu8/topology/core_id": "1\n",
    "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "/sys/devices/system/cpu/cpufreq/thermal_throttle/none": "",
  });
  try {
    const { architecture, ...facts } = readHostFacts(root);
    assert.deepEqual(facts, {
      hostname: "node-1",
      cpuCount: 4,
      physicalCores: 3,
      cpuSockets: 2,
      memoryBytes: 8 * 2 ** 30,
      swapBytes: 2 * 2 ** 20,
      kernelVersion: "6.1.0-30-amd64",
      osImage: "Debian GNU/Linux 12 (bookworm)",
      bootId: "boot",
      machineId: "machine",
      systemUuid: "UUID",
      pageBytes: 4096,
      pidMax: 192_731,
      hugepages: [
        { sizeBytes: 2 ** 21, pages: 16 },
        { sizeBytes: 2 ** 30, pages: 1 },
      ],
      thermalThrottleFolders: [
        "/sys/devices/system/cpu/cpu2/thermal_throttle",
        "/sys/devices/system/cpu/cpu10/thermal_throttle",
      ],
      inUserNamespace: false,
    });
    assert.ok(architecture);
  } finally {
    remove();
  }
});

/** Map of ids of a process, and whether that is another user namespace than the machine's first one. */
const UID_MAPS: readonly (readonly [string, boolean])[] = [
  ["         0          0 4294967295\n", false],
  ["         0       1000          1\n", true],
  ["         0       1000          1\n         1     100000      65536\n", true],
  ["         0          0      65536\n", true],
  ["         1          1 4294967295\n", true],
  ["", false],
];
for (const [map, expected] of UID_MAPS)
  test(`readHostFacts: a user namespace with the map ${JSON.stringify(map)}`, () => {
    const { root, remove } = machine(map === "" ? {} : { "/proc/self/uid_map": map });
    try {
      assert.equal(readHostFacts(root).inUserNamespace, expected);
    } finally {
      remove();
    }
  });

test("readHostFacts works without any readable file", () => {
  const { root, remove } = machine({
    "/proc/device-tree/vm,uuid": "tree\0",
    "/var/lib/dbus/machine-id": "dbus\n",
    "/proc/cpuinfo": "processor\t: 0\nmodel name : x\nprocessor\t: 1\n",
  });
  try {
    const facts = readHostFacts(root);
    assert.equal(facts.cpuCount, 2);
    assert.equal(facts.systemUuid, "tree");
    assert.equal(facts.machineId, "dbus");
    assert.equal(facts.osImage, "Linux");
    assert.deepEqual([facts.memoryBytes, facts.pidMax, facts.hugepages], [0, 0, []]);
  } finally {
    remove();
  }
});

test("countListed counts numbers and ranges, and takes nothing else", () => {
  for (const [list, count] of [
    ["0", 1],
    ["0-3", 4],
    ["0-3,8,10-11", 7],
    ["", 0],
    ["x", 0],
  ] as const) {
    assert.equal(countListed(list), count, list);
  }
});

test("osImage undoes the quoting of a shell", () => {
  assert.equal(osImage("PRETTY_NAME='Alpine Linux v3.20'"), "Alpine Linux v3.20");
  assert.equal(osImage("PRETTY_NAME=Plain"), "Plain");
  assert.equal(osImage('PRETTY_NAME="The \\"X\\" \\$1"'), 'The "X" $1');
  assert.equal(osImage("NAME=only"), "Linux");
});
