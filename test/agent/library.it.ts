// The example of the library, run as its page says.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { STAY } from "../support/stay.ts";

const EXAMPLE = join(import.meta.dirname, "../../examples/embed/run-a-pod.ts");

test("the embedding example runs a pod, shows its status and leaves nothing", () =>
  withBox({}, async (box) => {
    const command = ["sh", "-c", STAY];
    const program = box.spawn([process.execPath, EXAMPLE, TEST_IMAGE, "--", ...command]);
    let output = "";
    program.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    for (let i = 0; i < 1200 && !output.includes("Running"); i += 1) await sleep(50);
    assert.match(output, /^Pending/m);
    assert.match(output, /^Running/m);
    await program.kill("SIGINT");
    const { code } = await program.exited;
    assert.equal(code, 0);
    assert.match(output, /^gone$/m);
    assert.equal((await box.ctr("containers", "list", "-q")).trim(), "");
  }));
