/**
 * Waits for work, but not longer than `timeout_ms`. The work itself goes on; what it ends with later is ignored.
 * @param fault the error, or its message
 * @throws the fault when the time is over, else what the work throws
 */
export async function within<T>(timeout_ms: number, work: Promise<T>, fault: string | Error): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(typeof fault === 'string' ? new Error(fault) : fault), timeout_ms)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
