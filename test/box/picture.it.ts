// What tests see of a machine before and after is what the box did, whatever else happens on the machine.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { differences, machinePicture } from "../support/picture.ts";
import { withBox } from "./box.ts";

test("machinePicture shows files of the box, and none that others make on the machine", () =>
  withBox({ containerd: "none", network: false }, async (box) => {
    const others = `/var/lib/nodelet-picture-${process.pid}`;
    const before = await machinePicture(box);
    try {
      mkdirSync(`${others}/overlay/merged`, { recursive: true });
      writeFileSync(`${others}/overlay/file`, "");
      assert.deepEqual(differences(before, await machinePicture(box)), []);
    } finally {
      rmSync(others, { recursive: true });
    }
    const mine = ["/etc/mine", "/opt/mine", "/var/lib/mine", "/var/log/mine", "/run/mine"];
    await box.run(["mkdir", ...mine]);
    const found = differences(before, await machinePicture(box));
    for (const path of mine)
      assert.ok(found.includes(`new: file ${path}`), `${path}: ${found.join(", ")}`);
    await box.run(["rmdir", ...mine]);
    assert.deepEqual(differences(before, await machinePicture(box)), []);
  }));
