/**
 * Waits for work, but not longer than `timeout_ms`. The work itself goes on; what it ends with later is ignored.
 * @param fault message of the error
 * @throws Error when the time is over, else what the work throws
 */
export async function within<T>(timeout_ms: number, work: Promise<T>, fault: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(fault)), timeout_ms)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
