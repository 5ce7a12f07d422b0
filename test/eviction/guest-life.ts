// One constellation on whatever kernel this runs on, for the emulated machine with cgroups of version 2.
import { CONSTELLATIONS } from "./constellations.ts";
import { startMemoryNode, suffer } from "./suffer.ts";

const [row] = CONSTELLATIONS.slice(1);
if (!row) throw new Error("no constellation");
await using node = await startMemoryNode();
console.log("the node is Ready");
const { figures, victim } = await suffer(node, row);
console.log(`evicted: ${row.victim}: ${victim.status?.message}`);
console.log(`figures: ${JSON.stringify(figures)}`);
