import assert from "node:assert/strict";
import { test } from "node:test";
import { UNSUPPORTED, unsupportedText } from "./unsupported-kinds.ts";

const WITH_POD_TEMPLATE = [
  ...["ReplicationController", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
  ...["CronJob", "Job"],
];

test("unsupportedText proposes a pod template for the kinds that have one only", () => {
  const proposed = UNSUPPORTED.filter((each) => /its pod template/.test(unsupportedText(each)));
  assert.deepEqual(
    proposed.map(({ kind }) => kind),
    WITH_POD_TEMPLATE,
  );
});
