import { join } from "node:path";

/**
 * The program as users have it, for Node to run: tests that start a whole agent or a command of it start what is built. From
 * its sources each start takes five times as much processor time, which makes real pods miss their deadlines.
 */
export const PROGRAM = join(import.meta.dirname, "../../dist/nodelet.cjs");
