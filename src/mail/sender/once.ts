/**
 * Makes a function that does its work with the first call, and returns the same result to all. After a failure the work
 * is done again.
 */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    result ??= work().catch((error) => {
      result = undefined
      throw error
    })
    return result
  }
}
