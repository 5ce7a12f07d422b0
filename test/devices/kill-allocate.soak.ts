// The agent is killed a hundred times while a plugin is asked. KILL_SEED says where the moments come from.
import { test } from "node:test";
import { killedWhileAsking } from "./killed-while-asking.ts";

const seed = Number(process.env["KILL_SEED"] ?? "1");

test(`an agent killed 100 times while a plugin is asked, seed ${seed}`, () =>
  killedWhileAsking(100, seed));
