// cgroups of version 2 on a real kernel, with systemd and containerd 2: a guest that is booted once, in which the
// integration files run that say most about it. `npm run soak -- guest/v2` runs all of them there.
import { test } from "node:test";
import { machineObstacle } from "../../tools/guest/uml/machine.mjs";
import { runBatch } from "./batch.ts";

const LIMIT_MS = 560_000;
const FILES = ["sh:test/cgroups/example.it.ts", "systemd:test/cgroups/kernel.it.ts"];

test(
  "a guest with cgroup v2, systemd and containerd 2",
  { skip: machineObstacle() ?? false },
  (t) => runBatch(t, FILES, LIMIT_MS),
);
