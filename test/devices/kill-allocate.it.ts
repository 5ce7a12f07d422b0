// A few of the rounds that kill-allocate.soak.ts plays a hundred of.
import { test } from "node:test";
import { killedWhileAsking } from "./killed-while-asking.ts";

test("an agent killed while a plugin is asked: devices are where they were, or free", () =>
  killedWhileAsking(5, 1));
