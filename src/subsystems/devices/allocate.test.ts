import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { planGrants } from "./allocate.ts";
import {
  GPU,
  held,
  inputs,
  ledgerOf,
  listed,
  NIC,
  podOf,
  ROWS,
  shown,
  UID,
} from "./allocate.vectors.ts";
import { EMPTY_INVENTORY } from "./inventory.ts";
import { EMPTY_LEDGER, ownerOf, withPod } from "./ledger/ledger.ts";
import { deviceRequests } from "./requests.ts";

for (const { name, pod, gpus, nics, ledger, inventory, more, expect } of ROWS) {
  test(`planGrants: ${name}`, () => {
    const base = inventory ?? listed(EMPTY_INVENTORY, GPU, gpus ?? "a b c d e f g h");
    const all = nics === undefined ? base : listed(base, NIC, nics);
    assert.equal(
      shown(
        planGrants(inputs(podOf(pod), { inventory: all, ...(ledger ? { ledger } : {}), ...more })),
      ),
      expect,
    );
  });
}

test("planGrants never plans what others own, what is sick, or for two that run together", () => {
  const amount = fc.integer({ min: 0, max: 3 });
  const pods = fc.record({
    inits: fc.array(fc.tuple(amount, fc.boolean()), { maxLength: 3 }),
    apps: fc.array(amount, { minLength: 1, maxLength: 3 }),
  });
  const owners = fc.array(fc.constantFrom("", "other", "sick"), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(pods, owners, ({ inits, apps }, states) => {
      const text = `${inits.map(([n, side], i) => `${side ? "!" : ""}i${i}=${n}`).join(" ")};${apps.map((n, i) => `c${i}=${n}`).join(" ")}`;
      const ids = "abcdefgh".split("");
      const inventory = listed(
        EMPTY_INVENTORY,
        GPU,
        ids.map((id, i) => (states[i] === "sick" ? `-${id}` : id)).join(" "),
      );
      const others = ids.filter((_, i) => states[i] === "other").join("");
      const ledger = others === "" ? EMPTY_LEDGER : ledgerOf(held("x", others, "other"));
      const pod = podOf(text);
      const plan = planGrants(inputs(pod, { inventory, ledger }));
      if (plan.kind !== "plan") return;
      const requests = deviceRequests(pod);
      assert.equal(plan.steps.length, requests.length);
      for (const step of plan.steps) {
        assert.equal(
          step.devices.length,
          requests.find(({ container }) => container === step.container)?.resources[0]?.amount,
        );
        for (const { id } of step.devices) {
          assert.equal(ownerOf(ledger, GPU, id), undefined);
          assert.equal(inventory.get(GPU)?.devices.get(id)?.healthy, true);
        }
      }
      const holdings = plan.steps.map(({ container, devices }) => ({
        ...held(container, "x"),
        devices,
      }));
      withPod(ledger, UID, holdings);
      for (const a of plan.steps)
        for (const b of plan.steps) {
          if (
            a === b ||
            !runTogether(
              requests.find((w) => w.container === a.container),
              requests.find((w) => w.container === b.container),
            )
          )
            continue;
          assert.ok(
            !a.devices.some(({ id }) => b.devices.some((other) => other.id === id)),
            `${a.container} and ${b.container} share in ${text}`,
          );
        }
    }),
    { numRuns: 500 },
  );
});

type Requests = ReturnType<typeof deviceRequests>[number] | undefined;

/** Whether two containers ever run at the same time, stated once more, in other words. */
function runTogether(a: Requests, b: Requests): boolean {
  if (!a || !b) return false;
  const ends = (w: NonNullable<Requests>) =>
    w.kind === "init" ? w.order : Number.POSITIVE_INFINITY;
  return a.order <= ends(b) && b.order <= ends(a);
}
