import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog } from "../../kit/log.ts";
import { programVersion, warnOfVulnerabilities } from "./program-version.ts";
import { type RuntimeProgram, vulnerabilitiesOf } from "./vulnerabilities.ts";

const RUNC_2025 = ["CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"];
const IMAGES_2026 = ["CVE-2026-47262", "CVE-2026-53488"];
const CHECKPOINTS_2026 = ["CVE-2026-50195", "CVE-2026-53489", "CVE-2026-53492"];

const VECTORS: readonly (readonly [
  program: RuntimeProgram,
  version: string,
  names: readonly string[],
  fixedIn?: string,
])[] = [
  ["runc", "1.0.0", RUNC_2025, "1.2.8"],
  ["runc", "1.1.5+ds1", RUNC_2025, "1.2.8"],
  ["runc", "1.2.7", RUNC_2025, "1.2.8"],
  ["runc", "1.2.8", []],
  ["runc", "1.2.10", []],
  ["runc", "1.3.2", RUNC_2025, "1.3.3"],
  ["runc", "1.3.3", []],
  ["runc", "1.3.3-rc.1", RUNC_2025, "1.3.3"],
  ["runc", "1.4.0-rc.2", RUNC_2025, "1.4.0"],
  ["runc", "1.4.0", []],
  ["runc", "1.5.0", []],
  ["runc", "2.0.0", []],
  ["containerd", "1.4.13", ["CVE-2022-31030", ...IMAGES_2026], "1.7.33"],
  ["containerd", "1.5.12", ["CVE-2022-31030", ...IMAGES_2026], "1.7.33"],
  ["containerd", "1.5.13", IMAGES_2026, "1.7.33"],
  ["containerd", "1.6.5", ["CVE-2022-31030", ...IMAGES_2026], "1.7.33"],
  ["containerd", "1.6.20~ds1", IMAGES_2026, "1.7.33"],
  ["containerd", "v1.7.32", IMAGES_2026, "1.7.33"],
  ["containerd", "v1.7.33", []],
  ["containerd", "2.0.9", IMAGES_2026, "2.0.10"],
  ["containerd", "2.0.10", []],
  ["containerd", "2.1.0-rc.1", IMAGES_2026, "2.1.9"],
  ["containerd", "2.1.0", [...IMAGES_2026, ...CHECKPOINTS_2026], "2.1.9"],
  ["containerd", "2.1.8", [...IMAGES_2026, ...CHECKPOINTS_2026], "2.1.9"],
  ["containerd", "2.1.9+unknown", []],
  ["containerd", "2.2.4", [...IMAGES_2026, ...CHECKPOINTS_2026], "2.2.5"],
  ["containerd", "2.3.1", [...IMAGES_2026, ...CHECKPOINTS_2026], "2.3.2"],
  ["containerd", "2.3.2", []],
  ["containerd", "2.4.0", []],
  ["containerd", "10.0.0", []],
  ["containerd", "unknown", []],
  ["containerd", "", []],
];

for (const [program, version, names, fixedIn] of VECTORS)
  test(`vulnerabilitiesOf ${program} ${JSON.stringify(version)}`, () =>
    assert.deepEqual(
      vulnerabilitiesOf(program, version),
      fixedIn === undefined ? undefined : { program, version, names, fixedIn },
    ));

/** A folder of programs that print `printed`, as the only one on the PATH until `use` has ended. */
async function withPrograms(
  printed: Readonly<Record<string, string>>,
  use: () => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-programs-"));
  const path = process.env["PATH"];
  try {
    for (const [name, text] of Object.entries(printed)) {
      writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(folder, name), 0o755);
    }
    process.env["PATH"] = `${folder}:${path}`;
    await use();
  } finally {
    process.env["PATH"] = path;
    rmSync(folder, { recursive: true });
  }
}

test("programVersion reads what the programs print", async () => {
  const printed = {
    runc: "echo 'runc version 1.1.5+ds1'; echo 'spec: 1.0.2-dev'; echo 'libseccomp: 2.5.4'",
    containerd: "echo 'containerd github.com/containerd/containerd/v2 2.1.9+unknown '",
  };
  await withPrograms(printed, async () => {
    assert.equal(await programVersion("runc"), "1.1.5+ds1");
    assert.equal(await programVersion("containerd"), "2.1.9+unknown");
  });
  await withPrograms({ runc: "echo broken; exit 1", containerd: "echo v3" }, async () => {
    assert.equal(await programVersion("runc"), undefined);
    assert.equal(await programVersion("containerd"), undefined);
  });
});

test("the agent warns once of each program with known vulnerabilities (CVE-2025-31133, CVE-2026-53488)", async () => {
  const warned = async (runtimeName: string, runtimeVersion: string) => {
    const fields: unknown[] = [];
    const log = { ...silentLog, warn: (_: string, more?: object) => void fields.push(more) };
    await warnOfVulnerabilities({ runtimeName, runtimeVersion }, log);
    return fields;
  };
  await withPrograms({ runc: "echo 'runc version 1.3.2'" }, async () => {
    const names = RUNC_2025.join(", ");
    const runc = { program: "runc", version: "1.3.2", vulnerabilities: names, fixedIn: "1.3.3" };
    assert.deepEqual(await warned("containerd", "2.3.2"), [runc]);
    const [containerd, ...more] = await warned("containerd", "1.7.32");
    assert.deepEqual(more, [runc]);
    assert.deepEqual(containerd, {
      program: "containerd",
      version: "1.7.32",
      vulnerabilities: IMAGES_2026.join(", "),
      fixedIn: "1.7.33",
    });
    assert.deepEqual(await warned("cri-o", "1.7.32"), []);
  });
  await withPrograms({ runc: "echo 'runc version 1.4.0'" }, async () =>
    assert.deepEqual(await warned("containerd", "2.3.2"), []),
  );
});
