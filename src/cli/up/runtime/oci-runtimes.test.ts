import assert from "node:assert/strict";
import { test } from "node:test";
import { ociRuntimes, planHandlers } from "./oci-runtimes.ts";

const found = (...programs: readonly string[]) =>
  ociRuntimes((program) => (programs.includes(program) ? `/usr/bin/${program}` : undefined));

const FOUND: readonly (readonly [programs: readonly string[], names: readonly string[]])[] = [
  [[], []],
  [["runc"], ["runc"]],
  [
    ["runc", "crun", "youki"],
    ["crun", "runc", "youki"],
  ],
  // A runtime without its shim is none.
  [["runc", "runsc"], ["runc"]],
  [
    ["runc", "runsc", "containerd-shim-runsc-v1"],
    ["runc", "runsc"],
  ],
  [["containerd-shim-kata-v2"], ["kata"]],
];

for (const [programs, names] of FOUND)
  test(`\`ociRuntimes\` of ${programs.join(", ") || "no program"}`, () =>
    assert.deepEqual(
      found(...programs).map(({ name }) => name),
      names,
    ));

test("`ociRuntimes` gives the shim the program, where it takes one", () => {
  const [crun, kata] = found("crun", "containerd-shim-kata-v2");
  assert.equal(crun?.path, "/usr/bin/crun");
  assert.equal(kata?.path, undefined);
  assert.deepEqual(kata?.programs, ["/usr/bin/containerd-shim-kata-v2"]);
});

const ALL = ["runc", "crun", "youki"];
const PLANS: readonly (readonly [
  what: string,
  programs: readonly string[],
  failed: readonly string[],
  wanted: string | undefined,
  handlers: string,
])[] = [
  ["runc alone", ["runc"], [], undefined, "runc; runc"],
  ["crun before runc", ALL, [], undefined, "crun runc youki; crun"],
  ["crun that failed is not there", ALL, ["crun"], undefined, "runc youki; runc"],
  ["runc stays in any case", ["runc"], ["runc"], undefined, "runc; runc"],
  ["crun where runc failed", ["runc", "crun"], ["runc"], undefined, "crun runc; crun"],
  [
    "others are not chosen by themselves",
    ["runc", "youki"],
    ["runc"],
    undefined,
    "runc youki; runc",
  ],
  ["the user's choice", ALL, [], "youki", "crun runc youki; youki"],
  ["runc by the user's choice", ALL, [], "runc", "crun runc youki; runc"],
];

for (const [what, programs, failed, wanted, handlers] of PLANS)
  test(`\`planHandlers\`: ${what}`, () => {
    const problem = ({ name }: { readonly name: string }) =>
      failed.includes(name) ? "unknown version specified" : undefined;
    const { runtimes, chosen } = planHandlers(found(...programs), problem, wanted);
    assert.equal(`${runtimes.map(({ name }) => name).join(" ")}; ${chosen}`, handlers);
  });
