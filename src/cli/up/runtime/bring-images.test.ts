// Images that pods cannot do without: what becomes of a runtime that does not answer any more.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CliError } from "../../../present/cli-error.ts";
import type { OpenLedger } from "../ledger.ts";
import { ensureSandboxImage } from "./bring-images.ts";

test("a runtime that does not answer is an error, not a node whose pods never start", async () => {
  const socket = "/nonexistent/containerd.sock";
  const ledger = {} as OpenLedger;
  await assert.rejects(
    ensureSandboxImage({ socket, own: false, ledger, print: () => {} }),
    (error: unknown) =>
      error instanceof CliError &&
      error.message ===
        "the container runtime at /nonexistent/containerd.sock does not answer: its socket is gone" &&
      error.fix !== undefined,
  );
});
