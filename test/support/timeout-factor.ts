/** How many times longer everything may take, for machines that are emulated. */
export const TIMEOUT_FACTOR = Number(process.env["NODELET_TEST_TIMEOUT_FACTOR"] ?? 1);
