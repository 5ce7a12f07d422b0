// The slow allocators beside ours in a hundred thousand random cases each (NODELET_CPU_CASES); a few thousand are unit tests.
process.env["NODELET_CPU_CASES"] ??= "100000";
await import("../../src/subsystems/cpus/take/exhaustive.test.ts");
await import("../../src/subsystems/cpus/take/exhaustive-packed.test.ts");
