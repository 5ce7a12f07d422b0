import assert from "node:assert/strict";
import { test } from "node:test";
import type { RuntimeService, StatusResponse, VersionResponse } from "../../outside/cri/cri.ts";
import { RuntimeInfoCache } from "./runtime-info.ts";

const signal = new AbortController().signal;

/** A runtime that is upgraded while it is asked for its status. */
function upgradedRuntime() {
  const asked = { times: 0 };
  let version = "1.6.20";
  const answer = Promise.withResolvers<void>();
  const runtime: Pick<RuntimeService, "status" | "version"> = {
    status: async () => {
      asked.times += 1;
      await answer.promise;
      return { runtimeHandlers: [] } as unknown as StatusResponse;
    },
    version: async () => ({ runtimeVersion: version }) as VersionResponse,
  };
  const upgrade = () => {
    version = "2.1.0";
    answer.resolve();
  };
  return { asked, runtime, upgrade };
}

test("RuntimeInfoCache: what is known is not requested again", async () => {
  const { asked, runtime, upgrade } = upgradedRuntime();
  const info = new RuntimeInfoCache(runtime);
  upgrade();
  assert.equal(await info.get(signal), await info.get(signal));
  assert.equal(asked.times, 1);
});

test("RuntimeInfoCache: an answer from before the runtime changed is not kept", async () => {
  const { runtime, upgrade } = upgradedRuntime();
  const info = new RuntimeInfoCache(runtime);
  const early = info.get(signal);
  info.forget();
  upgrade();
  await early;
  assert.equal((await info.get(signal)).version.runtimeVersion, "2.1.0");
});
