// Guards of resource claims.
import { testGuards } from "./bite.ts";

testGuards([
  {
    name: "a claim is unprepared only after its last pod",
    file: "src/subsystems/resource-claims/claim-keeper.ts",
    line: "held.filter(({ pods }) => pods.size === 1)",
    without: "held",
    play: "play-claims.ts",
  },
]);
