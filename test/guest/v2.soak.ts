// Every integration file that runs with cgroups of version 2, systemd and containerd 2, in one guest.
import { test } from "node:test";
import { machineObstacle } from "../../tools/guest/uml/machine.mjs";
import { testFiles } from "../../tools/testing/files.mjs";
import { initInGuest, whyNotInGuest } from "../../tools/testing/platforms.mjs";
import { runBatch } from "./batch.ts";

const LIMIT_MS = 7_000_000;
const PARTS = (process.env["NODELET_GUEST_FILES"] ?? "").split(",");
const FILES = testFiles()
  .filter(({ path, kind }) => kind === "integration" && whyNotInGuest(path) === undefined)
  .map(({ path }) => `${initInGuest(path)}:${path}`)
  .filter((path) => PARTS.some((part) => path.includes(part)));

test(
  "all in a guest with cgroup v2, systemd and containerd 2",
  {
    skip: machineObstacle() ?? false,
  },
  (t) => runBatch(t, FILES, LIMIT_MS),
);
