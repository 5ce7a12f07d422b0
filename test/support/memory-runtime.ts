// A program: a CRI runtime that keeps sandboxes and containers in memory only, at the socket named as its argument.
import { createSystemClock } from "../../src/kit/clock.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { FakeRuntime } from "../sim/fake-runtime.ts";
import { serveRuntime } from "./serve-runtime.ts";

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error("memory-runtime: the path of the socket is missing");
const runtime = new FakeRuntime(createSystemClock(), createSeededRandom(1), { latencyMs: 20 });
await serveRuntime(path, runtime);
