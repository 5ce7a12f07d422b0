// Modules whose groups systemd keeps, on a bus of their own.
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import type { CgroupTree } from "../../src/outside/host/host.ts";
import { connectSystemd } from "../../src/outside/systemd/connect-systemd.ts";
import { type CgroupOptions, Cgroups } from "../../src/subsystems/cgroups/cgroups.ts";
import { defaultCgroupOptions } from "../../src/subsystems/cgroups/options.ts";
import { FAKE_FACTS } from "../sim/fake-host.ts";
import { FakeSystemd } from "../systemd/fake-systemd.ts";
import { PrivateBus } from "../systemd/private-bus.ts";

export interface SystemdCgroupModule {
  readonly cgroups: Cgroups;
  readonly systemd: FakeSystemd;
}

/** Runs `use` with a module on `tree` whose driver is systemd. */
export async function withSystemdModule(
  tree: CgroupTree,
  options: Partial<CgroupOptions>,
  use: (cgroupModule: SystemdCgroupModule) => Promise<void>,
): Promise<void> {
  await using bus = await PrivateBus.start();
  await using systemd = await FakeSystemd.start({ address: bus.address, tree });
  const clock = createSystemClock();
  const units = connectSystemd({ clock, addresses: [{ address: bus.address }] });
  try {
    const cgroups = new Cgroups(
      { tree, systemd: units, facts: FAKE_FACTS, clock, log: silentLog },
      { ...defaultCgroupOptions(tree.version), driver: "systemd", ...options },
    );
    await use({ cgroups, systemd });
  } finally {
    await units.close();
  }
}
