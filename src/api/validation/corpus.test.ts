import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { decodePodDocument } from "../decode/decode.ts";
import { formatProblem } from "../decode/field-problem.ts";
import type { Pod } from "../generated/types.ts";
import { defaultPod } from "../pod/pod-defaults.ts";
import { bindStaticPod } from "../pod/static-pod.ts";
import { dumpYaml, parseYamlDocument } from "../text/yaml.ts";
import { validatePod } from "./validation.ts";

const directory = new URL("../testdata/pods/", import.meta.url);

/** Pods of a manifest, decoded without a problem. */
function podsOf(text: string): readonly Pod[] {
  const { pods, problems } = decodePodDocument(parseYamlDocument(text).value);
  assert.deepEqual(problems.map(formatProblem), []);
  return pods;
}

for (const file of readdirSync(directory).sort())
  test(`corpus: ${file} decodes, is defaulted and valid`, () => {
    const pods = podsOf(readFileSync(new URL(file, directory), "utf8"));
    assert.ok(pods.length > 0);
    for (const pod of pods) {
      const defaulted = defaultPod(pod);
      assert.deepEqual(validatePod(defaulted).map(formatProblem), []);
      // Defaulting is done after one time, and what is written down is read back as the same pod.
      assert.deepEqual(defaultPod(defaulted), defaulted);
      const text = dumpYaml({ apiVersion: "v1", kind: "Pod", ...defaulted });
      assert.deepEqual(podsOf(text), [{ apiVersion: "v1", kind: "Pod", ...defaulted }]);
      // Bound to a node it stays valid, apart from gates, which nobody would ever clear there.
      const bound = bindStaticPod(defaulted, {
        nodeName: "Node.example",
        origin: { kind: "file", path: file },
        seen: "2026-01-02T03:04:05Z",
      });
      const { schedulingGates: _, ...spec } = bound.spec ?? { containers: [] };
      const named = { ...bound, spec: { ...spec, nodeName: "node.example" } };
      assert.deepEqual(validatePod(named).map(formatProblem), []);
    }
  });
