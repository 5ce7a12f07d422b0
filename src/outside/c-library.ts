import type { FunctionDefinitions, WrappedFunctionsFromDefinitions } from "node:ffi";

/**
 * Functions of the C library that Node is linked with, by the definitions of `node:ffi`. `undefined` where Node cannot call
 * them: before version 26, built or started without `node:ffi`, which is experimental, or with one of them missing.
 */
export function loadCFunctions<const T extends FunctionDefinitions>(
  definitions: T,
): WrappedFunctionsFromDefinitions<T> | undefined {
  const { emitWarning } = process;
  // Node says that the module is experimental, which is no news to whoever runs an agent.
  process.emitWarning = () => {};
  try {
    // An import would fail where there is no such module.
    return process.getBuiltinModule("node:ffi")?.dlopen(null, definitions).functions;
  } catch {
    return undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}
