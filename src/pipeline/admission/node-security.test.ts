import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "../../api/generated/types.ts";
import { unenforceable } from "./node-security.ts";

const NOTHING = { appArmor: false, strictGroups: false };
const c = { name: "c" };
const pod = (spec: Partial<PodSpec>, annotations: Record<string, string> = {}) => ({
  metadata: { annotations },
  spec: { containers: [c], ...spec },
});
const KEY = "container.apparmor.security.beta.kubernetes.io/c";
const profile = (type: string) => ({ appArmorProfile: { type } });

const ROWS: readonly (readonly [string, ReturnType<typeof pod>, string | undefined])[] = [
  ["nothing asked for", pod({}), undefined],
  ["the pod's profile", pod({ securityContext: profile("RuntimeDefault") }), "AppArmor"],
  ["unconfined", pod({ securityContext: profile("Unconfined") }), undefined],
  [
    "every container takes the pod's back",
    pod({
      securityContext: profile("RuntimeDefault"),
      containers: [{ ...c, securityContext: profile("Unconfined") }],
    }),
    undefined,
  ],
  [
    "an init container's own",
    pod({ initContainers: [{ name: "i", securityContext: profile("Localhost") }] }),
    "AppArmor",
  ],
  ["the annotation of older clusters", pod({}, { [KEY]: "runtime/default" }), "AppArmor"],
  ["the annotation unconfined", pod({}, { [KEY]: "unconfined" }), undefined],
  [
    "strict groups",
    pod({ securityContext: { supplementalGroupsPolicy: "Strict" } }),
    "SupplementalGroupsPolicyNotSupported",
  ],
  ["merged groups", pod({ securityContext: { supplementalGroupsPolicy: "Merge" } }), undefined],
];

for (const [name, given, reason] of ROWS)
  test(`unenforceable: ${name}`, () => {
    assert.equal(unenforceable(given, NOTHING)?.reason, reason);
    assert.equal(unenforceable(given, { appArmor: true, strictGroups: true }), undefined);
  });
