import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/support/pods.ts";
import { type LabelledVolume, selinuxCounts } from "./selinux-counts.ts";

const CLAIM = "kubernetes.io~local-volume";

/** A pod with the volume `v` in containers of these levels; `-` is a context without one, "" none at all. */
function volume(more: Partial<LabelledVolume>, ...levels: readonly string[]): LabelledVolume {
  const containers = levels.map((level, i) =>
    aContainer(`c${i}`, {
      volumeMounts: [{ name: "v", mountPath: "/v" }],
      ...(level === ""
        ? {}
        : {
            securityContext: {
              seLinuxOptions: level === "-" ? { type: "t" } : { type: "t", level },
            },
          }),
    }),
  );
  return { pod: aPod({ containers }), name: "v", plugin: "kubernetes.io~secret", ...more };
}

const claim = (mode: string): Partial<LabelledVolume> => ({
  plugin: CLAIM,
  claim: "data",
  accessModes: [mode],
});

const CASES: readonly (readonly [
  what: string,
  volumes: readonly LabelledVolume[],
  counts: Readonly<Record<string, readonly string[]>>,
])[] = [
  [
    "one context, or none",
    [volume({}, "s0:c1", "s0:c1"), volume({}, "")],
    { volumes_admitted: ["kubernetes.io/secret inline 2"] },
  ],
  [
    "containers of one pod that differ",
    [volume({}, "s0:c1", "s0:c2"), volume(claim("ReadWriteOncePod"), "s0:c1", "s0:c2")],
    { pod_context_mismatch_warnings: ["inline 1"], pod_context_mismatch_errors: ["RWOP 1"] },
  ],
  [
    "pods that differ, by the access mode of their volume",
    [
      volume(claim("ReadWriteMany"), "s0:c1"),
      volume(claim("ReadWriteMany"), "s0:c2"),
      volume({ ...claim("ReadWriteOncePod"), claim: "other" }, "s0:c1"),
      volume({ ...claim("ReadWriteOncePod"), claim: "other" }, "s0:c2"),
    ],
    {
      volumes_admitted: ["kubernetes.io/local-volume RWX 1", "kubernetes.io/local-volume RWOP 1"],
      volume_context_mismatch_warnings: ["kubernetes.io/local-volume RWX 1"],
      volume_context_mismatch_errors: ["kubernetes.io/local-volume RWOP 1"],
    },
  ],
  [
    "contexts without a level",
    [volume({}, "-"), volume(claim("ReadWriteOncePod"), "-")],
    {
      volumes_admitted: ["kubernetes.io/secret inline 1", "kubernetes.io/local-volume RWOP 1"],
      container_warnings: ["inline 1"],
      container_errors: ["RWOP 1"],
    },
  ],
];

for (const [what, volumes, expected] of CASES)
  test(`selinuxCounts: ${what}`, () => {
    const counts = Object.entries(selinuxCounts(volumes)).flatMap(([name, samples]) =>
      samples.length === 0
        ? []
        : [
            [
              name.slice("volume_manager_selinux_".length, -"_total".length),
              samples.map(
                ({ labels, value }) => `${Object.values(labels ?? {}).join(" ")} ${value}`,
              ),
            ] as const,
          ],
    );
    assert.deepEqual(Object.fromEntries(counts), expected);
  });
